"""How similarly the heads of two readings attend, and which heads correspond.

Two heads that read the same words are compared by the overlap of their attention: for each query
the sum over keys of √(p·q), the Bhattacharyya coefficient, averaged over queries. It is 1 if they
attend alike and 0 if they attend to different words. Heads are then paired to maximise the sum of
the overlaps (a linear assignment).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.reading import Part
from headscope.reading.word_level import word_starts
from headscope.text.tokens import Tokens

MOST_QUERIES = 64
FAR = 6  # words: larger distances count as one
MOST_WEIGHTS = 2**26  # in memory at once, of each reading
Heads = tuple[tuple[int, int], ...]  # (layer, head)


@dataclass(frozen=True)
class Alike:
    """`likeness` of every head of the first reading with every head of the second."""

    first: Heads
    second: Heads
    likeness: NDArray[np.float64]  # n m

    def same_number(self) -> dict[tuple[int, int], float]:
        """Likeness of the heads that have the same number in both."""
        index = {head: at for at, head in enumerate(self.second)}
        return {
            head: float(self.likeness[at, index[head]])
            for at, head in enumerate(self.first)
            if head in index
        }

    def matched(self) -> dict[tuple[int, int], tuple[tuple[int, int], float]]:
        """Each head of the first with its partner in the second."""
        from scipy.optimize import linear_sum_assignment

        rows, columns = linear_sum_assignment(self.likeness, maximize=True)
        return {
            self.first[i]: (self.second[j], float(self.likeness[i, j]))
            for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
        }


def heads_of(part: Part) -> Heads:
    return tuple((one.layer, head) for one in part.layers for head in range(one.shape[0]))


def same_words(one: Part, two: Part) -> bool:
    """Whether both read the same words, even if their tokenizers differ."""
    return _spelled(one.query) == _spelled(two.query) and _spelled(one.key) == _spelled(two.key)


def overlap(one: Part, two: Part) -> Alike:
    """The likeness of two parts with the same words: rows and columns are words, no specials."""
    query, key = _words(one.query)[0].size, _words(one.key)[0].size
    heads = max(len(heads_of(one)), len(heads_of(two)))
    most = min(MOST_QUERIES, max(8, MOST_WEIGHTS // max(1, key * heads)))
    chosen = np.unique(np.linspace(0, query - 1, min(query, most)).astype(np.intp))
    mine, theirs = (np.sqrt(_rows(part, chosen)) for part in (one, two))
    likeness = mine.reshape(len(mine), -1) @ theirs.reshape(len(theirs), -1).T / chosen.size
    return Alike(heads_of(one), heads_of(two), np.clip(likeness, 0.0, 1.0))


def by_distance(one: Part, two: Part) -> Alike:
    """The likeness of two parts that read different words: by their heads' distances and
    directions.

    A head's shares of attention by distance in words (more than `FAR` counts as one) are compared
    by the same coefficient: two heads that attend to the next word are alike on any words.
    """
    likeness = np.sqrt(_distances(one)) @ np.sqrt(_distances(two)).T
    return Alike(heads_of(one), heads_of(two), np.clip(likeness, 0.0, 1.0))


def _distances(part: Part) -> NDArray[np.float64]:  # heads distances
    """Mean over queries; from `FAR` and more words before to as many after."""
    query, key = _words(part.query)[0].size, _words(part.key)[0].size
    most = min(MOST_QUERIES, max(8, MOST_WEIGHTS // max(1, key * len(heads_of(part)))))
    chosen = np.unique(np.linspace(0, query - 1, min(query, most)).astype(np.intp))
    rows = _rows(part, chosen)
    offset = np.clip(np.arange(key)[None, :] - chosen[:, None], -FAR, FAR) + FAR
    shares = np.stack([(rows * (offset == at)).sum((1, 2)) for at in range(2 * FAR + 1)], axis=-1)
    total = shares.sum(-1, keepdims=True)
    return np.divide(shares, total, out=np.zeros_like(shares), where=total > 0)


def _words(tokens: Tokens) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The start and end of each word, without specials."""
    starts = word_starts(tokens)
    ends = np.append(starts[1:], len(tokens))
    kept = tokens.content[starts]
    return starts[kept], ends[kept]


def _spelled(tokens: Tokens) -> list[str]:
    """The words as in the text; tokens without a text by their labels."""
    starts, ends = _words(tokens)
    if tokens.texts and (tokens.spans[starts] >= 0).all():
        return [
            tokens.texts[int(tokens.segments[a])][
                tokens.spans[a, 0] : tokens.spans[b - 1, 1]
            ].strip()
            for a, b in zip(starts, ends, strict=True)
        ]
    return ["".join(tokens.labels[a:b]) for a, b in zip(starts, ends, strict=True)]


def _rows(part: Part, chosen: NDArray[np.intp]) -> NDArray[np.float64]:  # heads queries keys
    """The words' weights of some queries, with rows scaled to sum to one."""
    starts, ends = _words(part.query)
    columns, stops = _words(part.key)
    tokens = np.concatenate([np.arange(starts[int(at)], ends[int(at)]) for at in chosen])
    sizes = ends[chosen] - starts[chosen]
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    found: list[NDArray[np.float64]] = []
    for one in part.layers:
        weights = one.head_weights(slice(None), tokens).astype(np.float64)  # h r s
        summed = np.concatenate([np.zeros((*weights.shape[:2], 1)), weights.cumsum(-1)], axis=-1)
        words = summed[..., stops] - summed[..., columns]
        rows = np.add.reduceat(words, first, axis=1) / sizes[:, None]
        total = rows.sum(axis=-1, keepdims=True)
        whole = np.divide(rows, total, out=np.zeros_like(rows), where=total > 0)
        found.append(np.maximum(whole, 0.0))
    return np.concatenate(found)
