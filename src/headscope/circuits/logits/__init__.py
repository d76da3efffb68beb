"""Logits decomposed: attribution, promoted tokens, the lens."""
