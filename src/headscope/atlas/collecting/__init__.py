"""What an atlas collects while a corpus streams by, in state of bounded size.

Per kind of attention: the strongest examples of every head and measure, the same seeded sample of
positions for every head, and counts of the key that every query attends to most.
"""
