"""Head budgets: which key-value heads need the whole cache, and which need its two ends only."""
