"""What statistics are made of: numbers per query, and what is known of a batch."""
