"""Edits: attention changed while the model runs, and what that does to its answers."""
