"""Windows: a document longer than a model reads, cut into texts it can read, all of it.

Windows begin and end between words, so that a window's tokens are those of the document; each holds
as many as fit, and the next begins where it ends, or `stride` tokens after its beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from headscope.corpus.text.documents import Document
from headscope.errors import BadInput
from headscope.text.encodings import token_counts, token_spans

TOGETHER = 64  # documents counted at once
AT_ONCE = 64  # windows of a long document looked for at once: what it takes is flat in its length
SPARE = 4  # tokens: the first word of a window may be spelled otherwise than amid a text


def in_windows(
    documents: Iterable[tuple[int, Document]],
    tokenizer: Any,
    longest: int | None,
    stride: int | None = None,
) -> Iterator[tuple[int, Document, str]]:
    """Each document's place, itself, and one text after another of it."""
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
            for text in windows(document.text, tokenizer, room, stride):
                yield place, document, text


def _room(tokenizer: Any, longest: int, stride: int | None) -> int:
    room = longest - tokenizer.num_special_tokens_to_add(pair=False)
    if stride is not None and not 1 <= stride <= room:
        raise BadInput(f"A stride is 1 to {room} tokens here, not {stride}.")
    return room


def _too_long(
    waiting: Sequence[tuple[int, Document]], tokenizer: Any, room: int | None
) -> set[int]:
    """A text of fewer bytes than there is room for tokens is never too long; others are counted."""
    if room is None:
        return set()
    alone = [(place, one.text) for place, one in waiting if one.pair is None]
    doubtful = [(place, text) for place, text in alone if len(text.encode()) > room]
    known_long = {place for place, text in doubtful if len(text) > 100 * room}
    counted = [(place, text) for place, text in doubtful if place not in known_long]
    if not counted:
        return known_long
    counts = token_counts(tokenizer, [text for _, text in counted])
    of = zip(counted, counts, strict=True)
    return known_long | {place for (place, _), count in of if count > room}


def windows(text: str, tokenizer: Any, room: int, stride: int | None = None) -> Iterator[str]:
    """The texts a long one is cut into."""
    start = 0
    reach = max(64, room * 5) * AT_ONCE  # characters looked at together
    while start < len(text):
        last = start + reach >= len(text)
        block = text[start : start + reach]
        if not last:
            block = block[: _last_space(block)]
        begins = _beginnings(tokenizer, block)
        following = 0
        for following, piece in _of_block(block, begins, room, stride, last):  # noqa: B007
            yield piece
        start = len(text) if last else start + max(1, following)


def _of_block(
    block: str, begins: np.ndarray[Any, Any], room: int, stride: int | None, last: bool
) -> Iterator[tuple[int, str]]:
    """(where the next window begins, this window's text) for the windows a block holds whole."""
    tokens, places = begins[:, 0], begins[:, 1]  # of every word: its first token and character
    total = int(begins[-1, 0]) if len(begins) else 0
    at = 0  # among the words; the last row stands for the end
    while at < len(begins) - 1:
        fits = int(np.searchsorted(tokens, tokens[at] + room - SPARE, side="right")) - 1
        end = max(at + 1, fits)
        whole = end < len(begins) - 1
        if not whole and not last and at > 0:
            return  # it may go on in the next block, which begins with it
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


def _beginnings(tokenizer: Any, text: str) -> np.ndarray[Any, Any]:
    """n × 2: first token and character of every word that stands after a space; then the end."""
    if tokenizer.is_fast:
        _, spans = token_spans(tokenizer, [text])
        starts = np.asarray(spans[:, 0], dtype=np.int64)
    else:
        starts = _by_words(tokenizer, text)
    letters = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    space = np.isin(letters, [9, 10, 13, 32, 160, 0x3000])
    # some tokenizers count the space before a word to it
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
