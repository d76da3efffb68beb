"""Patterns: named behaviours of heads, how they are scored, and why heads show them."""
