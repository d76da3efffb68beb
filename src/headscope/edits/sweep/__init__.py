"""The sweep: one batch answered under many single-layer edits, with nothing computed twice."""
