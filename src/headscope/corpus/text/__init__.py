"""Plain text: documents, segments and batches."""
