"""When each word of a transcript is heard, from the cross attention of its tokens.

As in Whisper: chosen heads are averaged, each moment is standardised over all tokens, and dynamic
time warping finds the path through words and time. The path must also cross pauses, which it
assigns to the word that follows; these are removed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.media.positions import PositionKind
from headscope.media.sound import pauses

if TYPE_CHECKING:
    from headscope.reading.part import Part
    from headscope.reading.reading import Reading


SPACE = "␣"  # how labels show a space
SMOOTHED = 7  # moments that a median is taken over
ALIGNMENT = "alignment_heads"  # metadata's key: heads chosen by the model's makers


class WordTime(NamedTuple):
    """A word, the tokens it is made of, and when it is heard, in seconds."""

    word: str
    tokens: tuple[int, int]  # from, up to
    start: float
    end: float


def word_times(
    reading: Reading, heads: Sequence[tuple[int, int]] | None = None
) -> tuple[WordTime, ...]:
    """When each word of a transcript is heard.

    Parameters
    ----------
    reading
        A sound's reading by a model that transcribes, such as Whisper.
    heads
        (layer, head) pairs of cross attention. By default those that the model's generation
        configuration names, or all heads of the upper half of the layers.

    Returns
    -------
    tuple of WordTime
        Each word with its tokens, and where it starts and ends, in seconds.

    Examples
    --------
    >>> import headscope as hs
    >>> reading = hs.load("openai/whisper-tiny").read(audio="speech.wav")  # doctest: +SKIP
    >>> hs.word_times(reading)[0].start  # doctest: +SKIP
    """
    if "cross" not in reading.parts or reading.sound is None:
        raise BadInput(
            "Word times need a decoder that attends to audio; read the audio with a model such as "
            "Whisper: scope.read(audio=…)."
        )
    part = reading.part("cross")
    positions = part.key.positions
    if positions is None or not (positions.kinds == PositionKind.FRAME).any():
        raise BadInput(
            "This reading has no times for its positions; read the sound again with "
            "scope.read(audio=…)."
        )
    tokens = spoken_tokens(part)
    if not tokens.size:
        return ()
    heard = np.flatnonzero(positions.seconds[:, 0] < reading.sound.seconds)
    starts = positions.seconds[heard, 0]
    chosen = list(heads) if heads is not None else alignment_heads(reading)
    rows = _asking(tokens)
    costs = -contrast(_mean(part, chosen)[np.ix_(rows, heard)])
    begin = first_columns(costs)
    edges = np.append(
        starts[begin], min(reading.sound.seconds, float(positions.seconds[heard[-1], 1]))
    )
    return without_pauses(_words(part, tokens, edges), pauses(reading.sound))


def spoken_tokens(part: Part) -> NDArray[np.intp]:
    """Tokens of words, without a transcript's first, last and time tokens.

    Whisper's <|endoftext|> stands for unknown words as well, so it passes for a word elsewhere.
    """
    marks = np.array(
        [text.startswith("<|") and text.endswith("|>") for text in part.query.spellings]
    )
    return np.flatnonzero(part.query.content & ~marks)


def alignment_heads(reading: Reading) -> list[tuple[int, int]]:
    """The default heads for timing."""
    part = reading.part("cross")
    named = [(int(layer), int(head)) for layer, head in reading.metadata.get(ALIGNMENT, ())]
    named = [one for one in named if one[0] in part.numbers and one[1] < part.heads]
    if named:
        return named
    upper = part.numbers[len(part.numbers) // 2 :]
    return [(layer, head) for layer in upper for head in range(part.heads)]


def _asking(tokens: NDArray[np.intp]) -> NDArray[np.intp]:
    """For each token the query that predicts it, which is the one before, and the end's."""
    if tokens[0] == 0:
        return tokens
    return np.append(tokens - 1, tokens[-1])


def _mean(part: Part, heads: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    if not heads:
        raise BadInput("Name at least one head to read times from, as (layer, head).")
    for layer, head in heads:
        count = part.layer(layer).shape[0]
        if not 0 <= head < count:
            raise BadInput(
                f"There is no head {layer}-{head}; each layer has heads 0 to {count - 1}."
            )
    found = [np.asarray(part.head_weights(layer, head), dtype=np.float64) for layer, head in heads]
    return np.mean([standard(one) for one in found], axis=0)


def standard(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each moment standardised over the tokens: a moment that all attend to counts for none."""
    spread = weights.std(axis=0, keepdims=True)
    return (weights - weights.mean(axis=0, keepdims=True)) / np.maximum(spread, 1e-12)


def contrast(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Smoothed over neighbouring moments by a median, which keeps edges."""
    from scipy.ndimage import median_filter

    size = min(SMOOTHED, weights.shape[-1])
    return median_filter(weights, size=(*[1] * (weights.ndim - 1), size), mode="reflect")


def _words(
    part: Part, tokens: NDArray[np.intp], edges: NDArray[np.floating]
) -> tuple[WordTime, ...]:
    made: list[WordTime] = []
    for at, token in enumerate(tokens):
        label = part.query.labels[token].replace(SPACE, "")
        start, end = float(edges[at]), float(edges[at + 1])
        goes_on = made and part.query.continues[token] and made[-1].tokens[1] == token
        if goes_on:
            last = made.pop()
            made.append(
                WordTime(last.word + label, (last.tokens[0], int(token) + 1), last.start, end)
            )
        else:
            made.append(WordTime(label, (int(token), int(token) + 1), start, end))
    return tuple(made)


def without_pauses(
    words: tuple[WordTime, ...], silent: NDArray[np.float64]
) -> tuple[WordTime, ...]:
    """Words that begin after the pause assigned to them, and end before the next."""
    made = list(words)
    for at, word in enumerate(words):
        middle = (word.start + word.end) / 2
        begins = silent[:, 0] <= middle
        before = silent[begins & (silent[:, 1] > word.start) & (silent[:, 1] < word.end)]
        if not len(before):
            continue
        from_, to = before[-1]
        made[at] = made[at]._replace(start=float(to))
        if at and made[at - 1].end > from_ > made[at - 1].start:
            made[at - 1] = made[at - 1]._replace(end=float(from_))
    last = made[-1]
    after = silent[(silent[:, 0] > last.start) & (silent[:, 1] >= last.end)]
    if len(after):
        made[-1] = last._replace(end=float(after[0, 0]))
    return tuple(made)


# Dynamic time warping: the cheapest monotonic path through a table.

Floats = NDArray[np.float64]


def first_columns(costs: Floats) -> NDArray[np.int64]:
    """… rows × columns → … rows: where the cheapest path from first to last cell enters each row.

    Each step goes one down, one to the right, or both; the cost of a path is that of its cells.
    Equal costs go down early.
    """
    rows, columns = costs.shape[-2:]
    if not rows or not columns:
        raise BadInput("To time words, give a text and a sound; one of the two is empty.")
    along = costs.cumsum(-1)  # the cost of a row up to each column
    before = np.zeros_like(along)
    before[..., 1:] = along[..., :-1]
    total = along[..., 0, :]
    entered = np.zeros(costs.shape, np.int64)  # where a path to each cell enters its row
    came = np.zeros(costs.shape, np.int64)  # and the column it comes from, in the row above
    places = np.arange(columns)
    for row in range(1, rows):
        above = total.copy()
        both = total[..., :-1] <= total[..., 1:]
        above[..., 1:] = np.where(both, total[..., :-1], total[..., 1:])
        came[..., row, :] = places
        came[..., row, 1:] -= both
        entry = above - before[..., row, :]
        least = np.minimum.accumulate(entry, -1)
        entered[..., row, :] = np.maximum.accumulate(np.where(entry <= least, places, 0), -1)
        total = along[..., row, :] + least
    found = np.zeros(costs.shape[:-1], np.int64)
    at = np.full((*costs.shape[:-2], 1), columns - 1)
    for row in range(rows - 1, -1, -1):
        at = np.take_along_axis(entered[..., row, :], at, -1)
        found[..., row] = at[..., 0]
        at = np.take_along_axis(came[..., row, :], at, -1)
    return found
