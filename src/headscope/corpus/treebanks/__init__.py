"""Trees: CoNLL-U files of any treebank, or spaCy where none is given."""
