"""Heads by their weights alone: copying, composition, tokens."""
