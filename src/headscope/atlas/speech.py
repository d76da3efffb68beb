"""Parts of speech and governors of words, by spaCy."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from headscope.corpus.treebanks.spacy_parse import open_parser
from headscope.errors import BadInput

UNUSED = ("ner", "lemmatizer")
AT_ONCE = 16  # documents parsed at once, so that memory does not grow with their number
SPEECH = (
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN",
    "PUNCT", "SCONJ", "SYM", "VERB", "X",
)  # fmt: skip


def known_speech(name: str) -> str:
    """A universal part of speech in its usual spelling; any other text raises an error."""
    if name.upper() not in SPEECH:
        raise BadInput(f"{name!r} is not a part of speech; choose one of {', '.join(SPEECH)}.")
    return name.upper()


@cache
def _parser() -> Any:
    return open_parser()


def parsed(documents: Sequence[Sequence[str]]) -> Iterator[Any]:
    """Each document, given as its words, as spaCy reads it."""
    parser = _parser()
    tokens: Any = importlib.import_module("spacy.tokens")
    made = (tokens.Doc(parser.vocab, words=[word or " " for word in words]) for words in documents)
    # named entities and base forms are not needed, and take half of the time
    unused = [name for name in UNUSED if name in parser.pipe_names]
    yield from parser.pipe(made, disable=unused, batch_size=AT_ONCE)


def grammar_of(document: Any) -> tuple[list[str], list[int], list[str]]:
    """Every word's part of speech, governor's number and relation to it, read as arrays: looking at
    words one by one makes an object of each."""
    speech, step, relation = np.asarray(document.to_array(["POS", "HEAD", "DEP"])).reshape(-1, 3).T
    named: Any = document.vocab.strings
    names = {number: str(named[number]) for number in {*speech.tolist(), *relation.tolist()}}
    governor = np.arange(len(speech)) + step.astype(np.int64)  # a step back wraps around
    return (
        [names[number] for number in speech.tolist()],
        governor.tolist(),
        [names[number].lower() for number in relation.tolist()],
    )


def parts_of_speech(documents: Sequence[Sequence[str]]) -> list[list[str]]:
    """The universal part of speech of every word."""
    return [grammar_of(document)[0] for document in parsed(documents)]


def governors(documents: Sequence[Sequence[str]]) -> list[list[int]]:
    """The number of every word's governor; a root's is its own."""
    return [grammar_of(document)[1] for document in parsed(documents)]
