"""Logits taken apart: attribution, promoted tokens, the lens."""
