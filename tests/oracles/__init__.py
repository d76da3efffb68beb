"""Numbers held against programs and definitions that nobody here wrote."""
