"""The test of a label on one text: enough queries show the pattern, and chance would rarely do it.

A query supports a pattern if its own score reaches the label's threshold. With its weights permuted
among the pool's keys, it would do so with a probability that is bounded here; the number of such
queries then has a known tail. Queries that attend to the same key count once, because a head that
always attends to "the" meets many patterns' targets there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.map_scores import rows_of_maps
from headscope.patterns.pattern import Pattern
from headscope.patterns.token_pairs import TokenPairs
from headscope.reading import Part
from headscope.reading.collecting.collector import check_stop
from headscope.statistics.features.grid import PUNCTUATION, Grid
from headscope.statistics.of_reading import grid_of_part

LEAST = 4  # fewest queries that show a pattern, on as many keys
MOST = 2**18  # most pairs of a query and a key: all of a text of 512 tokens
LEFT = 0.02  # least share of a query's attention beside the sink

Floats = NDArray[np.float64]


class Support(NamedTuple):
    """Per head: how many queries show a pattern, how many could, and p."""

    queries: int
    supporting: NDArray[np.int64]
    score: Floats  # mean over the queries
    p: Floats


class Tested(NamedTuple):
    """Layers × heads of one part."""

    queries: int
    all_queries: bool
    """Whether the text is short enough that each of its queries was tested."""
    supporting: NDArray[np.int64]
    p: Floats
    rest: Floats
    """The score of what the head does with the attention its sink leaves; NaN where it has none."""


def support(part: Part, patterns: Iterable[Pattern]) -> dict[str, Tested]:
    """The test of each pattern that applies, for every head of a part."""
    chosen = [each for each in patterns if each.applies(part.causal) and not each.needs_likeness]
    rows = stretch(part)
    whole = grid_of_part(part)
    every = rows.stop - rows.start == len(part.query)
    grid = whole if every else whole.of_queries(rows)
    pairs = TokenPairs(grid, slice(0, rows.stop - rows.start))
    shape = (len(part.layers), part.heads)
    found = {
        each.name: Tested(
            0, every, np.zeros(shape, np.int64), np.ones(shape), np.full(shape, np.nan)
        )
        for each in chosen
    }
    sinks = _sinks(part, pairs)
    for at, layer in enumerate(part.layers):
        check_stop("labels", at / len(part.layers))
        weights = torch.from_numpy(np.ascontiguousarray(layer.head_weights(slice(None), rows)))
        weights, heads = weights.float(), layer.shape[0]
        left = weights * ~sinks
        mass = left.sum(-1, keepdim=True)
        without = torch.where(mass >= LEFT, left / mass.clamp(min=LEFT), 0.0)
        resting = np.zeros(heads, np.bool_)
        for each in sorted(chosen, key=lambda pattern: not pattern.rests):
            plain = supported(each, weights, grid, pairs)
            if each.rests:
                resting |= passes(plain, each, len(chosen))
            into = found[each.name]
            into.supporting[at, :heads], into.p[at, :heads] = plain.supporting, plain.p
            if not each.rests and resting.any():
                rest = supported(each, without, grid, pairs)
                into.supporting[at, :heads][resting] = rest.supporting[resting]
                into.p[at, :heads][resting] = rest.p[resting]
                into.rest[at, :heads][resting] = rest.score[resting]
            found[each.name] = into._replace(queries=plain.queries)
    return found


def stretch(part: Part) -> slice:
    """The tested queries: all, else the last ones, or those of the second text."""
    length = len(part.query)
    most = max(LEAST, MOST // max(1, len(part.key)))
    if most >= length:
        return slice(0, length)
    second = np.flatnonzero(part.query.segments == 1)
    start = length - most if not len(second) else int(second[0]) - most // 2
    start = min(max(0, start), length - most)
    return slice(start, start + most)


def enough(supporting: NDArray[np.int64], queries: int) -> NDArray[np.bool_]:
    """At least `LEAST` queries, and at least half of those that could."""
    return (supporting >= LEAST) & (2 * supporting >= queries)


def passes(found: Support, pattern: Pattern, patterns: int) -> NDArray[np.bool_]:
    """Whether a label passes, corrected for the number tested for the head."""
    from headscope.patterns.evidence import ERROR_RATE

    held = enough(found.supporting, found.queries) & (found.p <= ERROR_RATE / patterns)
    return held & (found.score >= pattern.least_score)


def supported(pattern: Pattern, weights: Tensor, grid: Grid, pairs: TokenPairs) -> Support:
    """The support in maps h t s whose queries are those of `pairs`."""
    if isinstance(pattern, MassPattern):
        return _of_mass(pattern, weights, pairs)
    rows = rows_of_maps(pattern, weights[None], grid)
    found, scores = pattern.row_scores(rows, grid)[0], pattern.scores(rows, grid)
    asked = ~found.isnan()
    count = int(asked.any(0).sum())
    shown = (found >= pattern.least_score) & asked
    z = (scores.score - scores.null)[0] / scores.variance[0].sqrt()
    p = torch.special.ndtr(-z.double()).nan_to_num(1.0)
    # attending to one sentence from everywhere shows half of it, so both must show it
    segments = grid.query.segments[0]
    for segment in segments.unique():
        own = asked & (segments == segment)
        p = torch.where(2 * (shown & own).sum(1) >= own.sum(1), p, 1.0)
    mean = found.nan_to_num(0.0).sum(1).double() / max(1, count)
    return Support(count, shown.sum(1).numpy(), mean.numpy(), p.numpy())


def _of_mass(pattern: MassPattern, weights: Tensor, pairs: TokenPairs) -> Support:
    aimed, pool = pattern.aim(pairs)[0], pattern.pool_of(pairs)[0]
    asked = (aimed.any(1) & (aimed.sum(1) < pool.sum(1))).nonzero()[:, 0]
    heads, count = weights.shape[0], len(asked)
    if count < LEAST:
        return Support(count, np.zeros(heads, np.int64), np.zeros(heads), np.ones(heads))
    aimed, pool, rows = aimed[asked], pool[asked], weights[:, asked]
    targets, choice = aimed.sum(1), pool.sum(1)
    least = pattern.least_score
    on_targets, in_pool = rows * aimed, rows * pool
    score = on_targets.sum(-1)
    shown = score >= least
    # of `targets` keys drawn from the pool one must weigh least / targets; and Markov's bound
    heavy = (in_pool >= (least / targets)[:, None]).sum(-1)
    share = targets / choice
    chance = torch.minimum(heavy * share, in_pool.sum(-1) * share / least).clamp(max=1.0)
    supporting = shown.sum(1)
    counted = supporting
    if not pattern.rests:  # a sink is one key by definition
        best = on_targets.argmax(-1)
        counted = torch.tensor([len(best[h][shown[h]].unique()) for h in range(heads)])
    p = np.where(counted >= LEAST, tails(chance.double().numpy(), counted.numpy()), 1.0)
    return Support(count, supporting.numpy(), score.double().mean(1).numpy(), p)


def tails(chance: Floats, counts: NDArray[np.int64]) -> Floats:
    """P(at least `counts` successes) of independent trials, a row of chances each."""
    trials = chance.shape[1]
    held = np.zeros((len(chance), trials + 1))
    held[:, 0] = 1.0
    for at in range(trials):
        won = held[:, : at + 1] * chance[:, at, None]
        held[:, : at + 1] -= won
        held[:, 1 : at + 2] += won
    below = np.arange(trials + 1) < counts[:, None]
    return np.where(below, 0.0, held).sum(1)


def _sinks(part: Part, pairs: TokenPairs) -> Tensor:
    """s bool: the keys where heads rest: a decoder's first token, an encoder's special ones."""
    if part.causal:
        return torch.arange(len(part.key)) == 0
    return pairs.grid.key.classes[0] < PUNCTUATION
