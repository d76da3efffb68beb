"""Head budgets: which key-value heads need the whole cache, and which live with its ends."""
