"""Scores: why a query attended to a key, decomposed by what wrote the query and the key."""
