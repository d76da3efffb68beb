"""Places: where in a corpus each head does something, and what it looks for there.

Gathered while a survey streams, in state of fixed size: the strongest places of every head and
measure, a seeded sample of every tenth of the measure's range, and counts of what queries attend
to most. Portions merge exactly.
"""
