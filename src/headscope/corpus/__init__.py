"""Text in: documents, segments and batches, treebanks, coreference, relations and tasks."""
