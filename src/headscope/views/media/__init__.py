"""What the image and the sound view share: what they open on, what they draw."""
