"""Profiles: what a head looks for, with counts and lift over what chance gives."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.atlas.word_profiles import word_profiles, written
from headscope.patterns.evidence import ERROR_RATE
from headscope.runs.in_parts import in_parts, of_each
from headscope.statistics.places.counts import REACH, UNIT, Counts
from headscope.statistics.significance import holm_clear

if TYPE_CHECKING:
    from headscope.atlas.spelled import Spelled
    from headscope.atlas.words import Words
    from headscope.capture import Kind
    from headscope.reading import Scope
    from headscope.statistics.places.places import Places
    from headscope.surveys.reducer import Heads

TOKENS = 60  # rows of a head in each profile of tokens: the most frequent and the highest lifts
LEAST = 5  # times a token or pair must occur to be listed
MANY = 20  # queries of a token, for the mean of their weights to be judged
COLUMNS = [
    "kind", "layer", "head", "profile", "name", "other", "count", "expected", "lift", "p",
    "clear", "weight", "focus",
]  # fmt: skip
WRITTEN = 10  # tokens that a head raises most
Columns = dict[str, Any]


def profile_table(
    scope: Scope,
    kind: Kind,
    heads: Heads,
    places: Places,
    spelled: Spelled | None,
    words: Mapping[int, Words],
) -> pd.DataFrame:
    """All profiles of all heads; those of tokens and words only with text."""
    counts = places.counts
    parts = [_offsets(counts), _along("position", counts.positions), _lengths(counts)]
    if spelled is not None:
        judges = [partial(judge, counts) for judge in (_key_tokens, _query_tokens, _pairs)]
        for found in of_each(partial.__call__, judges):
            named = {name: spelled(found[name]) for name in ("name", "other") if name in found}
            parts.append(pd.DataFrame({**found, **named}))
        if kind != "cross":
            parts += word_profiles(places, kind == "decoder", words, _judged)
            writes = written(scope, places, heads, spelled, WRITTEN)
            parts += [] if writes is None else [writes]
    frame: Any = pd.concat(parts, ignore_index=True)
    at = frame["at"].to_numpy(dtype=np.int64)
    attends = counts.positions[1].any(-1)[at]  # a head that is off attends to no key most
    frame, at = frame[attends].drop(columns="at"), at[attends]
    numbers = np.array(heads)
    frame["kind"], frame["layer"], frame["head"] = kind, numbers[at, 0], numbers[at, 1]
    frame["clear"] = frame["clear"] == True  # noqa: E712  rows without a test are not clear
    nothing = "other" not in frame or frame["other"].isna().all()  # as in a very small corpus
    frame["other"] = "" if nothing else frame["other"].fillna("")
    order = ["layer", "head", "profile"]
    return frame[COLUMNS].sort_values(order, kind="stable").reset_index(drop=True)


def _offsets(counts: Counts) -> pd.DataFrame:
    head, place = np.nonzero(counts.offsets)
    count = counts.offsets[head, place]
    expected = (counts.expected_offsets[place] * UNIT).astype(np.float64)
    return _judged(head, "offset", (place - REACH).astype(str), count, expected)


def _along(name: str, units: NDArray[np.int64]) -> pd.DataFrame:
    """Mean largest weight and mean focus along a line of places."""
    sums = units * UNIT
    head, place = np.nonzero(sums[0])
    queries = sums[0, head, place]
    return pd.DataFrame(
        {
            "at": head,
            "profile": name,
            "name": place.astype(str),
            "count": queries.astype(np.int64),
            "weight": sums[1, head, place] / queries,
            "focus": sums[2, head, place] / queries,
        }
    )


def _lengths(counts: Counts) -> pd.DataFrame:
    frame = _along("length", counts.lengths)
    return frame.assign(name=[str(2 ** int(power)) for power in frame["name"]])


def _key_tokens(counts: Counts) -> Columns:
    head, token = np.divmod(counts.keys.codes, counts.vocabulary)
    expected = _even(counts)[token]
    columns = _columns(head, counts.keys.count, expected)
    return _most_telling("key_token", {**columns, "name": token}, counts.keys.mean)


def _query_tokens(counts: Counts) -> Columns:
    """Mean largest weight by the query's token, over that of all queries of the head."""
    from scipy.special import stdtr

    table = counts.queries
    head, token = np.divmod(table.codes, counts.vocabulary)
    whole = np.bincount(head, table.weight * UNIT, counts.heads) / max(counts.total, 1)
    square = np.bincount(head, table.square * UNIT, counts.heads) / max(counts.total, 1)
    spread = np.sqrt(np.maximum(square - whole**2, 1e-12))
    mean, p = table.mean, np.ones(len(head))
    many = np.flatnonzero(table.count >= MANY)
    of, count = head[many], table.count[many]
    z = (mean[many] - whole[of]) / (spread[of] / np.sqrt(count))
    p[many] = in_parts(stdtr, count - 1, -z)  # the upper tail of Student's t
    columns: Columns = {
        "at": head,
        "count": table.count,
        "expected": whole[head],
        "lift": mean / np.maximum(whole[head], 1e-300),  # 0 of a head that is off
        "p": p,
        "clear": holm_clear(p, ERROR_RATE),
        "name": token,
    }
    return _most_telling("query_token", columns, mean)


def _pairs(counts: Counts) -> Columns:
    table = counts.pairs
    expected = in_parts(partial(_expected_of_pairs, counts), table.codes)
    with_query, key = np.divmod(table.codes, counts.vocabulary)
    head, query = np.divmod(with_query, counts.vocabulary)
    columns = {**_columns(head, table.count, expected), "name": query, "other": key}
    return _most_telling("pair", columns, table.mean)


def _expected_of_pairs(counts: Counts, codes: NDArray[np.int64]) -> NDArray[np.float64]:
    with_query, key = np.divmod(codes, counts.vocabulary)
    head, query = np.divmod(with_query, counts.vocabulary)
    asked = counts.queries.count[np.searchsorted(counts.queries.codes, with_query)]
    with_key = head * counts.vocabulary + key
    chosen = counts.keys.count[np.searchsorted(counts.keys.codes, with_key)]
    apart = asked * chosen / max(counts.total, 1)
    return np.maximum(apart, _together(counts, query, key) * _preference(counts, key, chosen))


def _together(counts: Counts, query: Any, key: Any) -> NDArray[np.float64]:
    """How often even attention goes from one token to another, for the texts they stand in."""
    code = query * counts.vocabulary + key
    at = np.minimum(np.searchsorted(counts.together.codes, code), len(counts.together.codes) - 1)
    there = counts.together.codes[at] == code
    return np.where(there, counts.together.weight[at] * UNIT, 0.0)


def _preference(counts: Counts, key: Any, chosen: Any) -> NDArray[np.float64]:
    """How much more often a head chooses a token than even attention, whatever the query."""
    return chosen / np.maximum(_even(counts)[key], 1e-12)


def _even(counts: Counts) -> NDArray[np.float64]:
    """How often even attention, which takes every key it sees alike, chooses each token."""
    found = np.zeros(counts.vocabulary)
    found[counts.chance.codes] = counts.chance.weight * UNIT
    return found


def _judged(
    head: NDArray[np.int64],
    profile: str,
    name: Any,
    count: NDArray[np.int64],
    expected: NDArray[np.float64],
) -> pd.DataFrame:
    columns = _columns(head, count, expected)
    return pd.DataFrame({"at": head, "profile": profile, "name": name, **columns})


def _columns(
    head: NDArray[np.int64], count: NDArray[np.int64], expected: NDArray[np.float64]
) -> Columns:
    """Counts beside what chance gives, and how likely chance gives as many."""
    from scipy.special import pdtrc

    at_least = np.maximum(expected, 1e-12)
    p = np.where(count > 0, in_parts(pdtrc, np.maximum(count - 1, 0), at_least), 1.0)
    return {
        "at": head,
        "count": count,
        "expected": expected,
        "lift": count / at_least,
        "p": p,
        # all heads and tokens were asked at once, those that are not listed too
        "clear": holm_clear(p, ERROR_RATE),
    }


def _most_telling(profile: str, columns: Columns, weight: NDArray[np.float64]) -> Columns:
    """Each head's most frequent rows and those of the least p."""
    rows = np.flatnonzero(columns["count"] >= LEAST)
    at, count, p, lift = (columns[name][rows] for name in ("at", "count", "p", "lift"))
    often, rare = _lowest(-count, at), _lowest(p, at)
    frequent = _first(often[np.lexsort((-count[often], at[often]))], at)
    telling = _first(rare[np.lexsort((-lift[rare], p[rare], at[rare]))], at)
    chosen = np.union1d(frequent, telling)
    kept = rows[chosen[np.lexsort((-count[chosen], p[chosen], at[chosen]))]]
    found = {name: of[kept] for name, of in columns.items()}
    return {**found, "profile": profile, "weight": weight[kept]}


def _lowest(values: NDArray[Any], at: NDArray[np.int64]) -> NDArray[np.intp]:
    """Rows that can be among the first of their head (in whose order they stand) by a value; those
    of equal value all: only so few need be put in order."""
    found: list[NDArray[np.intp]] = []
    starts = np.flatnonzero(np.diff(at, prepend=-1))
    for start, end in zip(starts, np.append(starts, len(at))[1:], strict=True):
        of_head = values[start:end]
        if len(of_head) > TOKENS // 2:
            last = np.partition(of_head, TOKENS // 2 - 1)[TOKENS // 2 - 1]
            found.append(start + np.flatnonzero(of_head <= last))
        else:
            found.append(np.arange(start, end))
    return np.concatenate(found) if found else starts


def _first(order: NDArray[np.intp], at: NDArray[np.int64]) -> NDArray[np.intp]:
    """The first rows of every head, of rows in the order of their heads."""
    heads = at[order]
    place = np.arange(len(order)) - np.searchsorted(heads, heads)
    return order[place < TOKENS // 2]
