"""What is known of one head on the text in hand."""
