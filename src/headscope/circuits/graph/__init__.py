"""Circuits as edges: which part of a model speaks to which, and what so few of them explain."""
