"""Surveys: one pass over a corpus, its forward passes reduced batch by batch to numbers per head."""
