"""Labelled links between positions: pairs of spans, word alignments, atoms, contacts, times."""
