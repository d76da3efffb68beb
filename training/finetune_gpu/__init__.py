"""Fine-tune the bundled model on GLUE and disable its heads, on one GPU."""
