"""Trees: CoNLL-U files of any treebank, or spaCy's if none is given."""
