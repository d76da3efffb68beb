"""From the calls of a forward pass to readings: what is kept, and how much memory it may take."""
