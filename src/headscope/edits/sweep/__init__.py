"""The sweep: one batch under many single-layer edits; shared work is done once."""
