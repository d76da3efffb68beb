"""Patching: how much of a prediction returns when one part of a model sees the other prompt."""
