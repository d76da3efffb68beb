"""Probes: what one head, or all heads together, know about grammar, reference and meaning."""
