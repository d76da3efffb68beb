"""What the study of the seven patterns is made of."""
