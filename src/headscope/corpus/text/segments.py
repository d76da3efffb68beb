"""Segments: what a model reads at once, made of documents."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from headscope.corpus.bad_data import Faults
from headscope.corpus.text.documents import Document
from headscope.errors import BadInput
from headscope.text.encodings import token_counts, token_spans

Segmentation = Literal["windows", "documents", "pairs"]
SEGMENTATIONS: tuple[Segmentation, ...] = ("windows", "documents", "pairs")


PAIR_TOKENS = 128  # the length of the paper's sentence pairs
_END = re.compile(
    r"""(?<=[.!?…])["'”’)\]]*   # the mark and what closes with it
        \s+
        (?=["'“‘(\[]*[A-Z0-9À-ÖØ-Þ])   # what follows looks like a beginning
    """,
    re.VERBOSE,
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[\"“])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Lt|Col|Gen|Capt|Sgt|Rev|Hon|vs|etc|cf|al|"
    r"e\.g|i\.e|No|Nos|Vol|pp|Fig|Figs|Inc|Ltd|Co|Corp|approx|ca|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|"
    r"Sept|Oct|Nov|Dec)\.$"
)


@dataclass(frozen=True)
class Segment:
    """One input of the model; `number` is its place in the survey, `document` in the corpus."""

    number: int
    document: int
    text: str
    pair: str | None = None


def segments(
    documents: Iterable[Document],
    cut: Segmentation,
    tokenizer: Any,
    *,
    longest: int | None,
    seed: int = 0,
    faults: Faults | None = None,
    stride: int | None = None,
) -> Iterator[Segment]:
    """Cut documents into segments: windows of what the model reads, each `stride` tokens after the
    one before (without, where it ended); whole documents, of which a model reads the beginning; or
    the sentence pairs of Clark et al. (2019).

    Documents that are too short for a pair are counted in `faults`, which refuses none of them.
    """
    if cut not in SEGMENTATIONS:
        raise BadInput(
            f"Segments are 'windows', whole 'documents' or sentence 'pairs', not {cut!r}."
        )
    if cut == "windows":
        from headscope.corpus.text.windows import in_windows

        every = in_windows(enumerate(documents), tokenizer, longest, stride)
        for number, (place, document, text) in enumerate(every):
            yield Segment(number, place, text, document.pair)
        return
    number = 0
    longest = PAIR_TOKENS if longest is None else longest
    for place, document in enumerate(documents):
        if cut == "documents" or document.pair is not None:
            yield Segment(number, place, document.text, document.pair)
            number += 1
            continue
        # seeded by document, so that a run that starts in the middle makes the same pairs
        chance = random.Random(f"{seed}:{place}")
        before = number
        for text, pair in _pairs(document, tokenizer, longest, chance):
            yield Segment(number, place, text, pair)
            number += 1
        if number == before and faults is not None:
            faults.remark("document of one sentence", document.where, "one sentence is no pair")


def _pairs(
    document: Document, tokenizer: Any, longest: int, chance: random.Random
) -> Iterator[tuple[str, str]]:
    """Sentences until they fill a segment, split at a random one, cut to length at random ends."""
    room = longest - tokenizer.num_special_tokens_to_add(pair=True)
    sentences = document.sentences or tuple(
        sentence for line in document.text.split("\n") for sentence in split_sentences(line)
    )
    if not sentences:
        return
    counts: list[int] = token_counts(tokenizer, sentences).tolist()
    # tokenizers make nothing of some sentences (control characters alone), which fill no side
    counted = [(text, count) for text, count in zip(sentences, counts, strict=True) if count]
    gathered: list[str] = []
    filled = 0
    for place, (sentence, length) in enumerate(counted):
        gathered.append(sentence)
        filled += length
        if filled < room and place + 1 < len(counted):
            continue
        if len(gathered) >= 2:  # one sentence alone makes no pair
            split = chance.randint(1, len(gathered) - 1)
            first, second = " ".join(gathered[:split]), " ".join(gathered[split:])
            yield _fit(tokenizer, first, second, room, chance)
        gathered, filled = [], 0


def _fit(
    tokenizer: Any, first: str, second: str, room: int, chance: random.Random
) -> tuple[str, str]:
    """Take tokens from a random end of the longer side until both fit."""
    sides = (first, second)
    spans = _spans(tokenizer, sides)
    counts = [len(of_side) for of_side in spans]
    starts = [0, 0]
    for _ in range(sum(counts) - room):
        longer = 0 if counts[0] >= counts[1] else 1
        counts[longer] -= 1
        if chance.random() < 0.5:
            starts[longer] += 1
    cut = [
        side[of_side[start][0] : of_side[start + count - 1][1]].strip()
        for side, of_side, start, count in zip(sides, spans, starts, counts, strict=True)
    ]
    return cut[0], cut[1]


def _spans(tokenizer: Any, texts: Sequence[str]) -> list[Any]:
    """Where each token stands in its text; words where a tokenizer does not say."""
    if not tokenizer.is_fast:
        return [_word_spans(tokenizer, text) for text in texts]
    counts, spans = token_spans(tokenizer, texts)
    ends = list(itertools.accumulate(counts.tolist()))
    return [spans[end - count : end] for end, count in zip(ends, counts, strict=True)]


def _word_spans(tokenizer: Any, text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    place = 0
    for word in text.split():
        start = text.index(word, place)
        place = start + len(word)
        # every token of a word stands for the whole of it, so that lengths still agree
        spans += [(start, place)] * max(1, int(token_counts(tokenizer, [word])[0]))
    return spans


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, blanks at their ends removed."""
    found: list[str] = []
    start = 0
    for match in _END.finditer(text):
        before = text[start : match.end()].strip()
        if _ABBREVIATION.search(before[-12:]):
            continue  # "J. S. Bach", "Dr. Who": the sentence goes on
        found.append(before)
        start = match.end()
    found.append(text[start:].strip())
    return [sentence for sentence in found if sentence]
