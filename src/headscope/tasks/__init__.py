"""Tasks: questions to a model, metrics of its answers, and tests against chance."""
