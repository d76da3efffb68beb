"""Fine-tune a model, and compare it with what it was."""
