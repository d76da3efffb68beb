"""Raw text parsed with spaCy, where it is installed."""

from __future__ import annotations

import pytest

from headscope.errors import HeadscopeError

pytest.importorskip("spacy")


def test_raw_text_becomes_sentences_with_trees():
    from headscope.corpus.treebanks.spacy_parse import parse_texts

    try:
        found = list(parse_texts(["The cat didn't see  Ann's dog. It left."]))
    except HeadscopeError:
        pytest.skip("no English model of spaCy is installed")
    assert [len(s) for s in found] == [9, 3]
    first = found[0]
    assert first.words[:4] == ("The", "cat", "did", "n't")
    assert first.relations[first.words.index("cat")] == "nsubj"
    assert first.heads.count(-1) == 1  # one root, although a blank was dropped


def test_a_model_that_is_not_there_is_said_with_what_to_do():
    from headscope.corpus.treebanks.spacy_parse import open_parser

    with pytest.raises(HeadscopeError, match="python -m spacy download"):
        open_parser("xx_no_such_model")
