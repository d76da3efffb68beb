"""Which head attends from a mention to its antecedent."""
