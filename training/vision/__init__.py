"""The small vision model of the documentation: digits on a noisy ground."""
