"""Surveys: one pass over a corpus, reduced batch by batch to numbers per head."""
