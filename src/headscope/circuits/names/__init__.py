"""Named heads: what they do, their score, and the score by chance."""
