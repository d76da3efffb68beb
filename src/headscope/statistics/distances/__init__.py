"""How alike heads attend: distances between all pairs, and maps and groups made of them."""
