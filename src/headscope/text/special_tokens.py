"""The special tokens around texts, and how much of a text they leave room for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.text.encodings import Encodings, encode_batch

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Layout:
    """Ids and types of the specials before, between and after sentences; types of sentences."""

    specials: tuple[tuple[Ints, Ints], ...]
    types: tuple[int, ...]

    def __len__(self) -> int:
        return sum(len(ids) for ids, _ in self.specials)


@dataclass(frozen=True)
class Frame:
    """How one sentence is framed, and how two are."""

    single: _Layout
    pair: _Layout
    has_types: bool

    @property
    def specials(self) -> int:
        return max(len(self.single), len(self.pair))


def frame_of(tokenizer: Any, add_special_tokens: bool) -> Frame | None:
    """As the tokenizer frames a letter, and two; None if it puts sentences in another order."""
    seen = encode_batch(tokenizer, ["a", "a"], [None, "a"], add_special_tokens=add_special_tokens)
    cut = int(seen.lengths[0])
    types = np.zeros(len(seen.ids), np.int64) if seen.types is None else seen.types
    single = _layout(seen.sentence[:cut], seen.ids[:cut], types[:cut], 1)
    pair = _layout(seen.sentence[cut:], seen.ids[cut:], types[cut:], 2)
    if single is None or pair is None:
        return None
    return Frame(single, pair, seen.types is not None)


def _layout(sentence: NDArray[np.int8], ids: Ints, types: Ints, count: int) -> _Layout | None:
    specials: list[tuple[Ints, Ints]] = []
    own: list[int] = []
    begin = 0
    for number in range(count):
        places = np.flatnonzero(sentence == number)
        if not len(places) or (np.diff(places) != 1).any() or places[0] < begin:
            return None
        specials.append((ids[begin : places[0]], types[begin : places[0]]))
        own.append(int(types[places[0]]))
        begin = int(places[-1]) + 1
    specials.append((ids[begin:], types[begin:]))
    return _Layout(tuple(specials), tuple(own))


def framed(
    frame: Frame,
    paired: NDArray[np.bool_],
    counts: Ints,  # rows × 2, tokens of each sentence
    ids: Ints,
    spans: NDArray[np.int32],
    limit: int | None,
) -> Encodings:
    """Sentences cut to the limit, with special tokens around them."""
    around = np.where(paired, len(frame.pair), len(frame.single))
    kept = counts if limit is None else _longest_first(counts, limit - around)
    lengths = kept.sum(axis=1) + around
    starts = np.cumsum(lengths) - lengths
    total = int(lengths.sum())
    all_ids, types = np.zeros(total, np.int64), np.zeros(total, np.int64)
    sentence = np.full(total, -1, dtype=np.int8)
    bases = np.zeros(counts.shape, dtype=np.int64)
    for is_pair, layout in ((False, frame.single), (True, frame.pair)):
        rows = np.flatnonzero(paired == is_pair)
        at = starts[rows]
        for number, (special_ids, special_types) in enumerate(layout.specials):
            for one, type_of in zip(special_ids, special_types, strict=True):
                all_ids[at], types[at] = one, type_of
                at = at + 1
            if number < len(layout.types):
                bases[rows, number] = at
                at = at + kept[rows, number]
    flat, own = counts.ravel(), kept.ravel()
    side = np.repeat(np.arange(len(flat)), flat)
    within = np.arange(len(ids)) - np.repeat(np.cumsum(flat) - flat, flat)
    stays = within < own[side] if limit is not None else slice(None)
    to = (bases.ravel()[side] + within)[stays]
    number = (side & 1)[stays]
    all_ids[to], sentence[to] = ids[stays], number
    all_spans = np.full((total, 2), -1, dtype=np.int32)
    all_spans[to] = spans[stays]
    if frame.has_types:
        of_rows = np.where(paired[:, None], frame.pair.types, (*frame.single.types, 0)).ravel()
        types[to] = of_rows[side[stays]]
    return Encodings(lengths, all_ids, sentence, all_spans, types if frame.has_types else None)


def _longest_first(counts: Ints, room: Ints) -> Ints:
    """Tokens are taken from the longer sentence until both fit, then from both in turn."""
    short, long = counts.min(axis=1), counts.max(axis=1)
    long = np.where(short > room, short, np.minimum(long, np.maximum(short, room - short)))
    half = room // 2
    too_many = short + long > room
    short, long = np.where(too_many, half, short), np.where(too_many, half + room % 2, long)
    second_longer = counts[:, 0] <= counts[:, 1]
    first, second = np.where(second_longer, short, long), np.where(second_longer, long, short)
    return np.stack([first, second], axis=1)
