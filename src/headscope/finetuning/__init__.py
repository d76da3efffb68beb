"""Fine-tune a model, and compare it with the original."""
