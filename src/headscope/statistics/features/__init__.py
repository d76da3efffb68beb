"""The inputs of statistics: numbers per query, and a batch's tokens."""
