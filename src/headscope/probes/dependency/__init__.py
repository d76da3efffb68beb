"""Which head attends from a word to its governor, or back."""
