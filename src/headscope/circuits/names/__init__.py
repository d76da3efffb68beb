"""Heads with names: what they do, how it is scored, and what chance would score."""
