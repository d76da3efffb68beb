"""Circuits as edges between parts of a model, and how much a few edges explain."""
