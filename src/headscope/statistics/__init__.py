"""Statistics: numbers per head, computed by streaming over calls, and surveys made of them."""
