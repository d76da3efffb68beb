"""Shared by views: their state, the shown heads and tokens, labels, numbers."""
