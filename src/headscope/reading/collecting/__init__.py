"""From the calls of a forward pass to readings: what is kept, within a memory limit."""
