"""Tasks: what a model is asked, how its answers are marked, and what of a score is luck."""
