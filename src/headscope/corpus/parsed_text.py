"""Plain text as sentences with trees: the documents of a file, parsed one by one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headscope.corpus.bad_data import Choice, Faults
from headscope.corpus.text.documents import Layout, Reader
from headscope.corpus.treebanks.conllu import Sentence
from headscope.corpus.treebanks.spacy_parse import parse_texts


def parsed_text(
    path: str | Path, layout: Layout = "auto", bad_data: Choice = "skip"
) -> Iterator[Sentence]:
    """A text file's sentences by spaCy; `layout` says what a document is, as in a survey."""
    documents = Reader(layout=layout).documents(path, Faults(bad_data))
    return parse_texts((document.text for document in documents), where=Path(path).name)
