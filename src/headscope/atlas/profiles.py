"""Profiles: what a head looks for, with counts and lift over chance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.atlas.collecting.counts import REACH, Counts
from headscope.atlas.word_profiles import word_profiles, written
from headscope.patterns.evidence import ERROR_RATE
from headscope.statistics.significance import FEWEST, holm, warn_few

if TYPE_CHECKING:
    from headscope.atlas.collecting.reducer import Collected
    from headscope.atlas.words import Spelled, Words
    from headscope.capture import Kind
    from headscope.reading import Scope

TOKENS = 60  # rows of a head in each profile of tokens: the most frequent and the highest lifts
LEAST = 5  # times a token or pair must occur to be listed
MANY = 20  # fewest queries of a token for which their mean weight is tested
COLUMNS = [
    "kind", "layer", "head", "profile", "name", "other", "count", "expected", "lift", "p",
    "clear", "weight", "focus",
]  # fmt: skip
WRITTEN = 10  # tokens that a head raises most
Columns = dict[str, Any]


def profile_table(
    scope: Scope,
    kind: Kind,
    collected: Collected,
    spelled: Spelled | None,
    words: Mapping[int, Words],
    texts: int,
) -> pd.DataFrame:
    """All profiles of all heads; those of tokens and words only with text.

    Queries of one text are not independent draws, so p counts what bunches in few texts as less.
    With fewer than `FEWEST` texts p is NaN and nothing is clear.
    """
    counts, heads = collected.counts, collected.heads
    positions = counts.positions.cpu().numpy()
    parts = [_offsets(counts), _along("position", positions), _lengths(counts)]
    if spelled is not None:
        for judge in (_key_tokens, _query_tokens, _pairs):
            found = judge(counts)
            named = {name: spelled(found[name]) for name in ("name", "other") if name in found}
            parts.append(pd.DataFrame({**found, **named}))
        if kind != "cross":
            drawn = collected.examples.drawn
            parts += word_profiles(drawn, kind == "decoder", words, _judged)
            writes = written(scope, kind, counts, heads, spelled, WRITTEN)
            parts += [] if writes is None else [writes]
    frame: Any = pd.concat(parts, ignore_index=True)
    at = frame["at"].to_numpy(dtype=np.int64)
    attends = positions[1].any(-1)[at]  # a disabled head has no strongest key
    frame, at = frame[attends].drop(columns="at"), at[attends]
    numbers = np.array(heads)
    frame["kind"], frame["layer"], frame["head"] = kind, numbers[at, 0], numbers[at, 1]
    frame["clear"] = frame["clear"] == True  # noqa: E712  rows without a test are not clear
    frame = without_few(frame, texts)
    nothing = "other" not in frame or frame["other"].isna().all()  # as in a very small corpus
    frame["other"] = "" if nothing else frame["other"].fillna("")
    order = ["layer", "head", "profile"]
    return frame[COLUMNS].sort_values(order, kind="stable").reset_index(drop=True)


def without_few(frame: pd.DataFrame, texts: int) -> pd.DataFrame:
    """The rows, without p where the texts are too few for one."""
    if texts >= FEWEST:
        return frame
    warn_few(texts, "texts")
    return frame.assign(p=np.nan, clear=False)


def _offsets(counts: Counts) -> pd.DataFrame:
    offsets, expected = counts.offsets.cpu().numpy(), counts.expected_offsets.cpu().numpy()
    head, at = np.nonzero(offsets)
    count = offsets[head, at].astype(np.int64)
    bunched = counts.bunched_offsets.cpu().numpy()[head, at]
    return _judged(head, "offset", (at - REACH).astype(str), count, expected[at], bunched)


def _along(name: str, sums: NDArray[np.float64]) -> pd.DataFrame:
    """Mean largest weight and mean focus along a line."""
    head, at = np.nonzero(sums[0])
    queries = sums[0, head, at]
    return pd.DataFrame(
        {
            "at": head,
            "profile": name,
            "name": at.astype(str),
            "count": queries.astype(np.int64),
            "weight": sums[1, head, at] / queries,
            "focus": sums[2, head, at] / queries,
        }
    )


def _lengths(counts: Counts) -> pd.DataFrame:
    frame = _along("length", counts.lengths.cpu().numpy())
    return frame.assign(name=[str(2 ** int(power)) for power in frame["name"]])


def _key_tokens(counts: Counts) -> Columns:
    codes, count, weight, _, bunched, *_ = counts.keys.fetched()
    head, token = np.divmod(codes, counts.vocabulary)
    columns = _columns(head, count.astype(np.int64), _uniform(counts)[token], bunched)
    return _most_telling("key_token", {**columns, "name": token}, weight / count)


def _query_tokens(counts: Counts) -> Columns:
    """Mean largest weight by the query's token, over that of all queries of the head.

    The queries of one text count as one number, their excess over that mean, because they vary
    together.
    """
    from scipy.special import stdtr

    codes, count, weight, _, bunched, both, squares = counts.queries.fetched()
    head, token = np.divmod(codes, counts.vocabulary)
    whole = np.bincount(head, weight, counts.heads) / max(float(counts.total), 1)
    mean, p = weight / count, np.ones(len(head))
    apart = count**2 / bunched  # the number of independent queries that would tell as much
    many = np.flatnonzero((count >= MANY) & (apart >= FEWEST))
    above, level = weight[many] - count[many] * whole[head[many]], mean[many]
    variance = squares[many] - 2 * level * both[many] + level**2 * bunched[many]
    z = above / np.sqrt(np.maximum(variance, 1e-12))
    p[many] = stdtr(apart[many] - 1, -z)  # the upper tail of Student's t
    columns: Columns = {
        "at": head,
        "count": count.astype(np.int64),
        "expected": whole[head],
        "lift": mean / np.maximum(whole[head], 1e-300),  # 0 for a disabled head
        "p": p,
        "clear": holm(p) <= ERROR_RATE,
        "name": token,
    }
    return _most_telling("query_token", columns, mean)


def _pairs(counts: Counts) -> Columns:
    """The expected count is the larger of two: what the counts of both tokens give if they are
    independent, and what uniform attention gives in the texts they share, times the head's
    preference for the key."""
    codes, count, weight, _, bunched, *_ = counts.pairs.fetched()
    with_query, key = np.divmod(codes, counts.vocabulary)
    head, query = np.divmod(with_query, counts.vocabulary)
    queries, keys, together = (
        table.fetched() for table in (counts.queries, counts.keys, counts.together)
    )
    asked = queries.counts[np.searchsorted(queries.codes, with_query)]
    chosen = keys.counts[np.searchsorted(keys.codes, head * counts.vocabulary + key)]
    apart = asked * chosen / max(float(counts.total), 1)
    code = query * counts.vocabulary + key
    at = np.minimum(np.searchsorted(together.codes, code), len(together.codes) - 1)
    shared = np.where(together.codes[at] == code, together.weight[at], 0.0)
    preference = chosen / np.maximum(_uniform(counts)[key], 1e-12)
    expected = np.maximum(apart, shared * preference)
    judged = _columns(head, count.astype(np.int64), expected, bunched)
    columns = {**judged, "name": query, "other": key}
    return _most_telling("pair", columns, weight / count)


def _uniform(counts: Counts) -> NDArray[np.float64]:
    """How often uniform attention over the keys that a query sees chooses each token."""
    table, found = counts.chance.fetched(), np.zeros(counts.vocabulary)
    found[table.codes] = table.weight
    return found


def _judged(
    head: NDArray[np.int64],
    profile: str,
    name: Any,
    count: NDArray[np.int64],
    expected: NDArray[np.float64],
    bunched: NDArray[np.float64],
) -> pd.DataFrame:
    columns = _columns(head, count, expected, bunched)
    return pd.DataFrame({"at": head, "profile": profile, "name": name, **columns})


def _columns(
    head: NDArray[np.int64],
    count: NDArray[np.int64],
    expected: NDArray[np.float64],
    bunched: NDArray[np.float64],
) -> Columns:
    """Counts beside the expected ones, and how likely chance gives as many.

    A text gives counts in bunches, of mean size Σ count² / Σ count over texts. The number of
    bunches is compared with a Poisson distribution.
    """
    from scipy.special import gammainc

    at_least = np.maximum(expected, 1e-12)
    bunch = np.where(count > 0, bunched / np.maximum(count, 1), 1.0)
    # P(Poisson(m) ≥ n) for whole n, interpolated between whole numbers
    p = np.where(count > 0, gammainc(np.maximum(count, 1) / bunch, at_least / bunch), 1.0)
    return {
        "at": head,
        "count": count,
        "expected": expected,
        "lift": count / at_least,
        "p": p,
        # corrected over all heads and tokens, listed or not
        "clear": holm(p) <= ERROR_RATE,
    }


def _most_telling(profile: str, columns: Columns, weight: NDArray[np.float64]) -> Columns:
    """Each head's most frequent rows and those with the smallest p."""
    rows = np.flatnonzero(columns["count"] >= LEAST)
    at, count, p, lift = (columns[name][rows] for name in ("at", "count", "p", "lift"))
    frequent = _first(np.lexsort((-count, at)), at)
    telling = _first(np.lexsort((-lift, p, at)), at)
    chosen = np.union1d(frequent, telling)
    kept = rows[chosen[np.lexsort((-count[chosen], p[chosen], at[chosen]))]]
    found = {name: of[kept] for name, of in columns.items()}
    return {**found, "profile": profile, "weight": weight[kept]}


def _first(order: NDArray[np.intp], at: NDArray[np.int64]) -> NDArray[np.intp]:
    """The first rows of every head, from rows sorted by head."""
    heads = at[order]
    rank = np.arange(len(order)) - np.searchsorted(heads, heads)
    return order[rank < TOKENS // 2]
