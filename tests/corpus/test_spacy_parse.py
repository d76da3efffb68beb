"""Raw text parsed with spaCy, where it is installed."""

from __future__ import annotations

import pytest

from headscope.errors import HeadscopeError

pytest.importorskip("spacy")
LAYOUTS = ("paragraphs", "lines", "auto")


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


def test_what_a_document_is_can_be_said_of_plain_text(tmp_path):
    """A sentence over two lines is one where paragraphs are documents, and two where lines are."""
    from headscope.cli.probe.shared import sentences

    file = tmp_path / "wrapped.txt"
    file.write_text("The cat saw\nthe dog.\n\nIt left.\n")
    try:
        found = {layout: sentences(str(file), None, "skip", layout) for layout in LAYOUTS}
    except HeadscopeError:
        pytest.skip("no English model of spaCy is installed")
    words = {layout: [len(one) for one in found[layout]] for layout in LAYOUTS}
    assert words == {"paragraphs": [6, 3], "lines": [3, 3, 3], "auto": [6, 3]}
