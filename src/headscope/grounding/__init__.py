"""What an answer took from which document: spans taken away, heads weighed, answers judged."""
