"""How much of an answer came from which document: ablated spans, head weights, verdicts."""
