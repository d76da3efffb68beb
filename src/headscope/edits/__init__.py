"""Edits: attention changed while the model runs, and the effect on its answers."""
