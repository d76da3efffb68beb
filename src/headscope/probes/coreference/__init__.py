"""Which head attends from a mention to what it refers back to."""
