"""Probes: what a head, or all heads together, know of grammar, reference and meaning."""
