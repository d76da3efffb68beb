"""Probes over all heads at once, beside what can be had without them."""
