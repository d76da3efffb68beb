"""Documents whose mentions are linked: CoNLL-2012, CoNLL-U `Entity=`, GAP."""
