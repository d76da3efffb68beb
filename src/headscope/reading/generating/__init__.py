"""Text a model writes on itself, and the attention of every step."""
