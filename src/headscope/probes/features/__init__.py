"""How much attention goes to linguistic features."""
