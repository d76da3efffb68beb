"""A document's links as model positions: units, right answers, candidates.

A unit is a word, an atom, a residue or a token: attention to a unit of several tokens is the sum,
attention from it the mean. Every link without tokens is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.corpus.bad_data import Faults
from headscope.corpus.links.linked import Linked
from headscope.text.tokens import Tokens

Bools = NDArray[np.bool_]
Positions = NDArray[np.intp]


@dataclass(frozen=True)
class Plan:
    """One document as the engine scores it."""

    number: int  # of the document
    queries: tuple[Positions, ...]  # tokens of each query unit
    keys: tuple[Positions, ...]  # tokens of each candidate
    right: Bools  # q k, sure links
    possible: Bools  # q k, sure links and possible ones
    allowed: Bools  # q k, the candidates of each query
    at: NDArray[np.float64]  # q, where each query lies among the candidates
    rows: tuple[int, ...]  # which of the document's queries have tokens
    units: tuple[tuple[float, float], ...]  # of candidates: characters, or seconds
    extra: Any = None  # further data of a field

    @property
    def cases(self) -> Bools:
        """q, queries with a right answer and a wrong one to choose from."""
        both = self.right & self.allowed, ~self.right & self.allowed
        return np.logical_and(both[0].any(axis=1), both[1].any(axis=1))


def plan(
    number: int,
    document: Linked,
    of_queries: Tokens,
    of_keys: Tokens,
    faults: Faults,
    *,
    query_segment: int = 0,
    same: bool = True,
    shift: int = 0,
    apart: int = 0,
) -> Plan | None:
    """Map a document to its tokens; None if no link is left.

    `same`: queries and keys are positions of one text. `shift` -1 uses the token before, which
    predicts the query. Units nearer than `apart` are excluded.
    """
    spans = list(document.queries or dict.fromkeys(pair.query for pair in document.pairs))
    asking = [tokens_of(span, of_queries, query_segment) + shift for span in spans]
    if document.candidates:
        units = list(document.candidates)
        keys = [tokens_of(span, of_keys, 0) for span in units]
    else:
        inside = np.flatnonzero(of_keys.content & (of_keys.segments == 0))
        units = [(int(a), int(b)) for a, b in of_keys.spans[inside]]
        keys = [np.array([position]) for position in inside]
    row_of = {span: row for row, span in enumerate(spans)}
    starts, ends = np.array(units).reshape(-1, 2).T
    there = np.array([len(one) > 0 for one in keys], bool)
    right, possible = (np.zeros((len(spans), len(units)), bool) for _ in range(2))
    one_text = same and query_segment == 0
    shared = (
        _shared(asking, keys, len(of_keys), -shift) if one_text else np.zeros(right.shape, bool)
    )
    allowed = there & ~shared
    if one_text:
        first, _ = np.array(spans).reshape(-1, 2).T
        allowed &= np.abs(starts - first[:, None]) >= apart
    if document.groups is not None:
        of_query, of_key = (np.array(names) for names in document.groups)
        allowed &= of_query[:, None] == of_key
    for pair in document.pairs:
        row = row_of.get(pair.query)  # pyright: ignore[reportArgumentType]
        if row is None or not len(asking[row]) or (asking[row] < 0).any():
            faults.note("unaligned", document.where, f"{pair.query} has no token of its own")
            continue
        found = (starts < pair.target[1]) & (ends > pair.target[0]) & there & ~shared[row]
        if not found.any():
            message = f"{pair.target} has no token of its own, or shares that of {pair.query}"
            faults.note("unaligned", document.where, message)
            continue
        if not (found & allowed[row]).any():
            message = f"{pair.target} is no candidate of {pair.query}"
            faults.note("no candidate", document.where, message)
            continue
        possible[row] |= found
        right[row] |= found & pair.sure
    kept = [row for row, tokens in enumerate(asking) if len(tokens) and (tokens >= 0).all()]
    found = Plan(
        number, tuple(asking[row] for row in kept), tuple(keys), right[kept], possible[kept],
        allowed[kept], _along(spans, units, one_text)[kept],
        tuple(kept), tuple(units),
    )  # fmt: skip
    for row in np.flatnonzero(found.right.any(axis=1) & ~found.cases):
        message = f"{spans[kept[row]]} has a single candidate"
        faults.remark("no choice", document.where, message)
    if found.cases.any():
        return found
    for row in np.flatnonzero(found.possible.any(axis=1) & ~found.right.any(axis=1)):
        message = f"{spans[kept[row]]} has only possible links, and no query of the text a sure one"
        faults.remark("only possible", document.where, message)
    return None


def tokens_of(span: Sequence[float], tokens: Tokens, segment: int) -> Positions:
    """The tokens of one text that lie in a span of its characters."""
    start, end = tokens.spans[:, 0], tokens.spans[:, 1]
    own = (start < span[1]) & (end > span[0]) & (start >= 0) & (tokens.segments == segment)
    return np.flatnonzero(own)


def _shared(
    asking: Sequence[Positions], keys: Sequence[Positions], tokens: int, shift: int
) -> Bools:
    """q k: whether a query and a candidate share a token; such candidates are excluded."""
    there = np.zeros((2, max(len(asking), len(keys)), tokens), np.float32)
    for side, units in enumerate((asking, keys)):
        for unit, positions in enumerate(units):
            there[side, unit, positions + (0 if side else shift)] = 1
    return there[0, : len(asking)] @ there[1, : len(keys)].T > 0


def _along(
    queries: Sequence[tuple[int, int]], units: Sequence[tuple[int, int]], same: bool
) -> NDArray[np.float64]:
    """Where each query lies among the candidates: its own position, or in proportion."""
    if same:
        starts = np.array([start for start, _ in units])
        return np.searchsorted(starts, [start for start, _ in queries]).astype(np.float64)
    return np.round(np.arange(len(queries)) * (len(units) - 1) / max(1, len(queries) - 1))
