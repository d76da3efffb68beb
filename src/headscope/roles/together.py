"""Heads together: chosen on one half of the kept documents, scored on the other.

Greedy forward selection adds the head that helps the mean map most; sparse logistic regression
weighs all heads at once, as Rao et al. 2021 find contacts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from headscope.roles.fields import OF_MAPS, Field
from headscope.roles.kept import Kept, KeptDocument
from headscope.roles.maps import unit_batch
from headscope.roles.scores import Tally
from headscope.statistics.significance import Replicates

POOL = 24  # heads that greedy selection considers: the best alone
CELLS = 40_000  # pairs of units that the regression is fitted to
PENALTY = 0.15  # C of the logistic regression, as in Rao et al.
COLUMNS = ("method", "k", "heads", "chosen", "value", "low", "high", "documents",
           "difference", "difference_low", "difference_high")  # fmt: skip

Head = tuple[int, int, int]  # direction, layer, head
Array = NDArray[np.float64]
Scorer = Callable[[KeptDocument, Array], tuple[Array, float]]  # sums of maps (m q k), the count


@dataclass(frozen=True)
class Chosen:
    """Heads and how much each counts."""

    heads: tuple[Head, ...]
    weights: tuple[float, ...]

    def map_of(self, kept: KeptDocument) -> Array:
        """q k: the weighted mean of the heads' maps."""
        maps = [
            weight * kept.maps[head].astype(np.float64)
            for head, weight in zip(self.heads, self.weights, strict=True)
        ]
        return np.sum(maps, axis=0) / len(maps)


def equal(heads: Sequence[Head]) -> Chosen:
    return Chosen(tuple(heads), (1.0,) * len(heads))


def together(
    kept: Kept,
    field: Field,
    alone: Array,  # direction layer head, the field's score of each head on the choosing half
    k: int,
    lists: Mapping[str, Sequence[tuple[int, int]]],
    score: Scorer,
    seed: int,
) -> pd.DataFrame:
    """A row per method: the heads, their score on the choosing half and on the other.

    `difference` is the score less that of the first of `lists`, on the same documents.
    """
    choosing, scoring = kept.half(0), kept.half(1)
    if not choosing or not scoring:
        return pd.DataFrame(columns=list(COLUMNS))
    found = {"best head": equal(_ranked(alone, field.lower)[:1])}
    for size, heads in enumerate(_greedy(choosing, alone, field.lower, k, score), 1):
        if size > 1:
            found[f"greedy, {size}"] = equal(heads)
    regression = _regression(choosing, field, seed) if field.metric != "time error" else None
    if regression is not None:
        found["sparse logistic regression"] = regression
    for name, heads in lists.items():
        directions = range(len(field.directions))
        found[name] = equal([(way, *one) for one in heads for way in directions])
    parts = {name: _parts(scoring, chosen, score) for name, chosen in found.items()}
    numbers = np.array([one.plan.number for one in scoring], np.int64)
    against = parts[next(iter(lists))] if lists else None
    rows: list[dict[str, object]] = []
    for name, chosen in found.items():
        sums, counts = parts[name]
        share = field.metric in ("precision", "alignment error rate")
        value, low, high = _interval(numbers, sums, counts, share, seed)
        less = (np.nan,) * 3
        if against is not None and sums is not against[0]:
            less = _interval(numbers, sums - against[0], counts, False, seed)
        unique = list(dict.fromkeys((layer, head) for _, layer, head in chosen.heads))
        heads = " ".join(f"{layer}-{head}" for layer, head in unique)
        on_own_half = float(_means(choosing, [chosen], score)[0])
        cells = (name, len(unique), heads, on_own_half, value, low, high, len(scoring), *less)
        rows.append(dict(zip(COLUMNS, cells, strict=True)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def map_score(field: Field) -> Scorer:
    """A field's score of one document's maps."""
    measure = OF_MAPS[field.metric]

    def score(kept: KeptDocument, maps: Array) -> tuple[Array, float]:
        one = kept.plan
        width = max((int(at.max()) for at in (*one.queries, *one.keys) if len(at)), default=0) + 1
        batch = unit_batch([one], width, width, torch.device("cpu"))
        tally: Tally = measure(torch.from_numpy(maps)[None], batch)
        return tally.sums[0].double().numpy(), float(tally.counts[0])

    return score


def _ranked(alone: Array, lower: bool) -> list[Head]:
    """Every head in its better direction, the best first."""
    values = np.nan_to_num(-alone if lower else alone, nan=-np.inf)
    best = values.argmax(0)  # layer head
    heads = [(int(best[at]), int(at[0]), int(at[1])) for at in np.ndindex(best.shape)]
    return sorted(heads, key=lambda head: -values[head])


def _means(documents: Sequence[KeptDocument], many: Sequence[Chosen], score: Scorer) -> Array:
    """The scores of several choices over all documents."""
    parts = [score(one, np.stack([chosen.map_of(one) for chosen in many])) for one in documents]
    cases = sum(count for _, count in parts)
    return np.sum([sums for sums, _ in parts], axis=0) / (cases or np.nan)


def _greedy(
    documents: Sequence[KeptDocument], alone: Array, lower: bool, k: int, score: Scorer
) -> list[tuple[Head, ...]]:
    """The best one, two … k heads; each step adds the head that helps most."""
    pool = _ranked(alone, lower)[: max(POOL // 2 if lower else POOL, k)]
    sign = -1.0 if lower else 1.0
    chosen: tuple[Head, ...] = ()
    found: list[tuple[Head, ...]] = []
    for _ in range(min(k, len(pool))):
        open_heads = [head for head in pool if head not in chosen]
        tried = [equal((*chosen, head)) for head in open_heads]
        values = sign * np.nan_to_num(_means(documents, tried, score), nan=-sign * 1e9)
        chosen = (*chosen, open_heads[int(np.argmax(values))])
        found.append(chosen)
    return found


def _regression(documents: Sequence[KeptDocument], field: Field, seed: int) -> Chosen | None:
    """Weights of all heads, most of them zero; None if right and wrong cannot be separated."""
    from sklearn.linear_model import LogisticRegression

    generator = np.random.default_rng(seed)
    shape = documents[0].maps.shape[:3]
    each = max(20, CELLS // len(documents))
    cells: list[Array] = []
    labels: list[NDArray[np.bool_]] = []
    for one in documents:
        row, key = np.nonzero(one.plan.allowed & one.plan.cases[:, None])
        if len(row) > each:
            right = one.plan.right[row, key]
            order = np.lexsort((generator.random(len(row)), ~right))[:each]  # right ones are few
            row, key = row[order], key[order]
        cells.append(one.maps[:, :, :, row, key].reshape(-1, len(row)).T.astype(np.float64))
        labels.append(one.plan.right[row, key])
    features, answers = np.concatenate(cells), np.concatenate(labels)
    spread = features.std(0)
    if answers.all() or not answers.any() or not spread.any():
        return None
    scaled = features / np.where(spread > 0, spread, 1.0)
    # scikit-learn 1.8 renamed the option
    renamed = LogisticRegression().penalty == "deprecated"
    sparse: dict[str, Any] = {"l1_ratio": 1.0} if renamed else {"penalty": "l1"}
    fitted = LogisticRegression(C=PENALTY, solver="liblinear", random_state=seed, **sparse)
    fitted.fit(scaled, answers)
    weights = fitted.coef_[0] / np.where(spread > 0, spread, 1.0)
    order = np.argsort(-np.abs(fitted.coef_[0]))
    used = [int(at) for at in order if fitted.coef_[0][at]]
    if not used:
        return None
    heads = tuple(tuple(int(i) for i in np.unravel_index(at, shape)) for at in used)
    return Chosen(heads, tuple(float(weights[at]) for at in used))  # pyright: ignore


def _parts(documents: Sequence[KeptDocument], chosen: Chosen, score: Scorer) -> tuple[Array, Array]:
    """d 1 each: the sums and counts of every document."""
    scored = [score(one, chosen.map_of(one)[None]) for one in documents]
    parts = np.array([(sums[0], count) for sums, count in scored])
    return parts[:, :1], parts[:, 1:]


def _interval(
    numbers: NDArray[np.int64], sums: Array, counts: Array, share: bool, seed: int
) -> tuple[float, float, float]:
    """The ratio of sums and counts, and the ends of its interval over documents."""
    replicates = Replicates(1, seed)
    replicates.add_units(numbers, sums, counts)
    low, high = replicates.interval(share=share)[:, 0]
    whole = counts.sum()
    return float(sums.sum() / whole) if whole else np.nan, float(low), float(high)
