"""Checkpoints: the same heads measured at every step of a training."""
