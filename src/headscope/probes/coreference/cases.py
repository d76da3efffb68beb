"""Cut documents to what the model reads, and list the mentions to resolve there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from headscope.corpus.coreference.documents import CoreferenceDocument, Mention
from headscope.corpus.coreference.mentions import Kind
from headscope.probes.coreference.rules import RULES
from headscope.text.tokenise import tokenise

if TYPE_CHECKING:
    from headscope.reading import Scope

Windows = Literal["first", "all"]
KINDS: tuple[Kind, ...] = ("pronoun", "proper", "nominal")


@dataclass(frozen=True)
class Case:
    """A mention that has an antecedent in the window."""

    anaphor: int  # its head word
    kind: Kind
    candidates: tuple[int, ...]  # head words of the mentions it could refer back to
    antecedents: tuple[int, ...]  # those that are right
    rules: tuple[bool, ...]  # whether each baseline of RULES is right


@dataclass(frozen=True)
class Window:
    """A stretch of a document short enough for the model."""

    words: tuple[str, ...]
    where: str
    cases: tuple[Case, ...]


def reading_windows(
    scope: Scope, documents: Iterable[CoreferenceDocument], limit: int, which: Windows = "first"
) -> Iterator[Window]:
    """The first window of each document as in the paper, or all of them, cut at sentences."""
    for document in documents:
        for start, end in _stretches(scope, document, limit, which):
            yield _window(document, start, end)


def _stretches(
    scope: Scope, document: CoreferenceDocument, limit: int, which: Windows
) -> Iterator[tuple[int, int]]:
    starts = [0, *(np.flatnonzero(np.diff(document.sentences)) + 1).tolist()]
    ends = [*starts[1:], len(document.words)]
    begin = filled = 0
    for start, end in zip(starts, ends, strict=True):
        tokens = tokenise(scope.tokenizer, [list(document.words[start:end])]).tokens[0]
        pieces = np.bincount(tokens.word_ids[tokens.word_ids >= 0], minlength=end - start)
        room = limit - (len(tokens) - int(pieces.sum()))  # without special tokens
        if filled + pieces.sum() <= room:
            filled += int(pieces.sum())
            continue
        if which == "first":
            yield begin, start + int((filled + np.cumsum(pieces) <= room).sum())
            return
        if start > begin:
            yield begin, start
        fitting = int((np.cumsum(pieces) <= room).sum())
        begin, filled = start, int(pieces.sum())
        if fitting < end - start:  # one sentence longer than the model: its beginning is used
            yield start, start + fitting
            begin, filled = end, 0
    if begin < len(document.words):
        yield begin, len(document.words)


def _window(document: CoreferenceDocument, start: int, end: int) -> Window:
    mentions = [m for m in document.mentions if start <= m.start and m.end <= end]
    cases: list[Case] = []
    for mention in mentions:
        if document.both_sides:
            if document.kind(mention) != "pronoun":
                continue
            others = [m for m in mentions if m.head != mention.head]
        else:
            others = [m for m in mentions if m.start < mention.start and m.head != mention.head]
        right = {m.head for m in others if m.cluster == mention.cluster}
        if right:
            cases.append(_case(document, mention, others, right, start))
    return Window(document.words[start:end], document.where, tuple(cases))


def _case(
    document: CoreferenceDocument,
    mention: Mention,
    others: list[Mention],
    right: set[int],
    start: int,
) -> Case:
    answers = [rule(document, mention, others) for rule in RULES.values()]
    return Case(
        anaphor=mention.head - start,
        kind=document.kind(mention),
        candidates=tuple(sorted({m.head - start for m in others})),
        antecedents=tuple(sorted(head - start for head in right)),
        rules=tuple(answer is not None and answer.head in right for answer in answers),
    )
