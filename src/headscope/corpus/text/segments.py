"""Segments: what a model reads at once, made of documents."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from headscope.corpus.bad_data import Faults
from headscope.corpus.text.documents import Document
from headscope.errors import BadInput
from headscope.text.encodings import token_counts, token_spans

Segmentation = Literal["windows", "documents", "pairs"]
SEGMENTATIONS: tuple[Segmentation, ...] = ("windows", "documents", "pairs")


def nothing_to_read(segments: Segmentation) -> str:
    """Why a corpus gave no segment, and what to do."""
    if segments == "pairs":
        return (
            "No document of the corpus has two sentences, so there is no pair to read; read whole "
            'documents with --segments documents (segments="documents"), or check the path and '
            "field."
        )
    return (
        f"The corpus holds no text that can be read in {segments}; check the path and field, or "
        "cut it another way."
    )


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
    """One input of the model; `number` counts in the survey, `document` in the corpus."""

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
    """Cut documents into segments: windows that the model can read, each `stride` tokens after the
    one before (by default at its end); whole documents, of which a model reads the beginning; or
    the sentence pairs of Clark et al. (2019).

    Documents that are too short for a pair are counted in `faults` and never raise an error.
    """
    if cut not in SEGMENTATIONS:
        raise BadInput(
            f"Segments are 'windows', whole 'documents' or sentence 'pairs', not {cut!r}."
        )
    if cut == "windows":
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
    # some sentences have no tokens (control characters alone) and fill no side
    counted = [(text, count) for text, count in zip(sentences, counts, strict=True) if count]
    gathered: list[str] = []
    filled = 0
    for place, (sentence, length) in enumerate(counted):
        gathered.append(sentence)
        filled += length
        if filled < room and place + 1 < len(counted):
            continue
        if len(gathered) >= 2:  # a pair needs two sentences
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
    """Each token's span in its text; its word's span if the tokenizer gives none."""
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
        # every token of a word gets the word's span, so that lengths still agree
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


TOGETHER = 64  # documents tokenised at once
AT_ONCE = 64  # windows of a long document found at once: memory does not grow with it
SPARE = 4  # tokens: a window's first word may be tokenised differently


def in_windows(
    documents: Iterable[tuple[int, Document]],
    tokenizer: Any,
    longest: int | None,
    stride: int | None = None,
) -> Iterator[tuple[int, Document, str]]:
    """Each document's number, the document, and its windows' texts.

    Windows begin and end between words, so that a window's tokens are those of the document; each
    holds as many as fit, and the next begins where it ends, or `stride` tokens after its beginning.
    """
    waiting: list[tuple[int, Document]] = []
    for numbered in documents:
        waiting.append(numbered)
        if len(waiting) == TOGETHER or len(numbered[1].text) > 10**6:
            yield from _cut(waiting, tokenizer, longest, stride)
            waiting = []
    yield from _cut(waiting, tokenizer, longest, stride)


def _cut(
    waiting: Sequence[tuple[int, Document]],
    tokenizer: Any,
    longest: int | None,
    stride: int | None,
) -> Iterator[tuple[int, Document, str]]:
    room = None if longest is None else _room(tokenizer, longest, stride)
    long = _too_long(waiting, tokenizer, room)
    for place, document in waiting:
        if room is None or place not in long:
            yield place, document, document.text
        else:
            for text in windows(document.text, tokenizer, room, stride, spans=long[place]):
                yield place, document, text


def _room(tokenizer: Any, longest: int, stride: int | None) -> int:
    room = longest - tokenizer.num_special_tokens_to_add(pair=False)
    if stride is not None and not 1 <= stride <= room:
        raise BadInput(f"stride= is 1 to {room} tokens here, the size of a window, not {stride}.")
    return room


def _too_long(
    waiting: Sequence[tuple[int, Document]], tokenizer: Any, room: int | None
) -> dict[int, Any]:
    """The texts with too many tokens, each with its tokens' spans where these are known.

    A text with fewer bytes than that need not be tokenised, nor one that is surely too long.
    """
    if room is None:
        return {}
    alone = [(place, one.text) for place, one in waiting if one.pair is None]
    doubtful = [(place, text) for place, text in alone if len(text.encode()) > room]
    long: dict[int, Any] = {place: None for place, text in doubtful if len(text) > 100 * room}
    counted = [(place, text) for place, text in doubtful if place not in long]
    if not counted:
        return long
    texts = [text for _, text in counted]
    if tokenizer.is_fast:
        spans = _spans(tokenizer, texts)
        counts = [len(found) for found in spans]
    else:
        spans = [None] * len(texts)
        counts = token_counts(tokenizer, texts).tolist()
    of = zip(counted, counts, spans, strict=True)
    return long | {place: found for (place, _), count, found in of if count > room}


def windows(
    text: str,
    tokenizer: Any,
    room: int,
    stride: int | None = None,
    *,
    at_once: int = AT_ONCE,
    spare: int = SPARE,
    spans: np.ndarray[Any, Any] | None = None,
) -> Iterator[str]:
    """The texts a long one is cut into; `spans` are those of its tokens, if they are known."""
    start = 0
    reach = max(64, room * 5) * at_once  # characters tokenised together
    while start < len(text):
        last = start + reach >= len(text)
        block = text[start : start + reach]
        if not last:
            block = block[: _last_space(block)]
        begins = _beginnings(tokenizer, block, spans if len(block) == len(text) else None)
        following = 0
        for following, piece in _of_block(block, begins, room, stride, last, spare):  # noqa: B007
            yield piece
        start = len(text) if last else start + max(1, following)


def _of_block(
    block: str,
    begins: np.ndarray[Any, Any],
    room: int,
    stride: int | None,
    last: bool,
    spare: int,
) -> Iterator[tuple[int, str]]:
    """(where the next window begins, this window's text) for the windows wholly in a block."""
    tokens, places = begins[:, 0], begins[:, 1]  # of every word: its first token and character
    total = int(begins[-1, 0]) if len(begins) else 0
    at = 0  # a row of the words; the last row is the end
    while at < len(begins) - 1:
        fits = int(np.searchsorted(tokens, tokens[at] + room - spare, side="right")) - 1
        end = max(at + 1, fits)
        whole = end < len(begins) - 1
        if not whole and not last and at > 0:
            return  # it may continue in the next block, which begins with it
        following = end
        if stride is not None and whole:
            following = int(np.searchsorted(tokens, tokens[at] + stride, side="right")) - 1
            following = min(max(at + 1, following), end)
        piece = block[places[at] : places[end]].strip()
        if piece:
            yield int(places[following]), piece
        if tokens[end] >= total:
            return
        at = following


def _beginnings(
    tokenizer: Any, text: str, spans: np.ndarray[Any, Any] | None
) -> np.ndarray[Any, Any]:
    """n × 2: first token and character of every word after a space; then the end."""
    if tokenizer.is_fast:
        if spans is None:
            _, spans = token_spans(tokenizer, [text])
        starts = np.asarray(spans[:, 0], dtype=np.int64)
    else:
        starts = _by_words(tokenizer, text)
    letters = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    space = np.isin(letters, [9, 10, 13, 32, 160, 0x3000])
    # some tokenizers include the space before a word in it
    first = np.where(starts < len(letters), starts, max(0, len(letters) - 1))
    free = (first == 0) | space[np.maximum(first - 1, 0)] | space[first]
    fresh = np.append(True, starts[1:] > starts[:-1]) if len(starts) else np.zeros(0, bool)
    words = np.flatnonzero(free & fresh)
    rows = np.stack([words, starts[words]], axis=1)
    return np.concatenate([rows, [[len(starts), len(text)]]])


def _by_words(tokenizer: Any, text: str) -> np.ndarray[Any, Any]:
    starts: list[int] = []
    place = 0
    for word in text.split():
        place = text.index(word, place)
        starts += [place] * max(1, int(token_counts(tokenizer, [word])[0]))
        place += len(word)
    return np.array(starts, dtype=np.int64)


def _last_space(text: str) -> int:
    found = max(text.rfind(" "), text.rfind("\n"), text.rfind("\t"))
    return found if found > 0 else len(text)
