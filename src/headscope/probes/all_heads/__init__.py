"""Probes over all heads at once, beside baselines without them."""
