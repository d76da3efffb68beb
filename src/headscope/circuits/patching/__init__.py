"""Patching: what of a prediction comes back when one part of a model sees the other prompt."""
