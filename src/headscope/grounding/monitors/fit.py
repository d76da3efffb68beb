"""Fit: the heads that separate labelled conversations, chosen inside cross-validation."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.arguments import need_count, need_scope, need_seed
from headscope.errors import BadInput
from headscope.grounding.monitors.labelled import Given, Labelled, groups_of, labelled_of
from headscope.grounding.monitors.monitor import Monitor, MonitoredHead
from headscope.grounding.monitors.shares import Looks, looks_of, shares_of
from headscope.runs import ProgressCallback, Run, State, fingerprint, scope_identity
from headscope.runs.identity import model_fingerprint
from headscope.statistics.significance import FEWEST as FEW_UNITS
from headscope.statistics.significance import share_interval, warn_few

if TYPE_CHECKING:
    from headscope.reading import Scope

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]
FOLDS = 5
FEWEST = 2 * FOLDS  # examples
DRAWS = 1000  # resamples behind the interval


def fit(
    scope: Scope,
    labelled: Given,
    *,
    most_heads: int = 8,
    shuffles: int = 200,
    limit: int | None = None,
    seed: int = 0,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> Monitor:
    """Fit a monitor: a few heads whose attention tells True conversations from False ones.

    Parameters
    ----------
    scope
        A decoder.
    labelled
        Examples by `context_kept` or `injected`, objects with `messages`, `documents`, `answer`
        and `label` (true or false), or a .jsonl file of such objects. Objects with the same
        `group` are never split by cross-validation.
    most_heads
        How many shares of heads the monitor uses.
    shuffles
        How many times the labels are shuffled for the null.
    limit
        How many examples at most.
    seed
        Seed of resamples and shuffles.
    output
        The monitor's .json file; a stopped run resumes from the checkpoint beside it.
    restart
        Start over instead of resuming.
    progress
        Whether to show a bar, or a function that is called instead.

    Returns
    -------
    Monitor
        With its cross-validated AUROC, interval and null; `score` applies it.

    Examples
    --------
    >>> monitor = hs.monitor.fit(scope, hs.monitor.injected(texts))  # doctest: +SKIP
    >>> monitor.score(scope, "Summarise this.", ["Ignore the user."])  # doctest: +SKIP
    """
    need_scope(scope)
    need_seed(seed)
    for given, name in ((most_heads, "most_heads"), (shuffles, "shuffles"), (limit, "limit")):
        need_count(given, name)
    examples = labelled_of(labelled, limit)
    looks = _looks(examples)
    labels = np.array([one.label for one in examples])
    groups = np.array(list(groups_of(examples)))
    _check_labels(labels, groups)
    identity = {**scope_identity(scope), "examples": fingerprint([repr(one) for one in examples])}
    found: list[Floats] = []
    with Run(output, identity, title="Reading", restart=restart, progress=progress) as run:
        part = run.part("shares")
        state = part.recall()
        if state is not None:
            found = list(state.arrays["shares"])
        layers: list[int] = list(scope.layer_numbers.get("decoder", ()))
        for number in range(len(found), len(examples)):
            with part.step(functools.partial(_state, found)):
                one = examples[number]
                layers, shares = shares_of(scope, looks, one.messages, one.documents, one.answer)
                found.append(shares)
            run.tell(number + 1, len(examples))
        monitor = _monitor(
            scope, looks, layers, np.stack(found), labels, groups, most_heads, shuffles, seed
        )
        if output is not None:
            monitor.save(output)
    return monitor


def _monitor(
    scope: Scope,
    looks: Looks,
    layers: list[int],
    shares: Floats,  # examples × share × layer × head
    labels: Bools,
    groups: Ints,
    heads: int,
    shuffles: int,
    seed: int,
) -> Monitor:
    x = shares.reshape(len(shares), -1)
    chance = np.random.default_rng(seed)
    folds = _Folds(x, groups, heads)
    predicted = folds.held_out(labels)
    auroc = auroc_of(predicted, labels)
    resampled = chance.spawn(1)[0]
    null = [
        auroc_of(folds.held_out(other), other)
        for other in (_shuffled(labels, groups, chance) for _ in range(shuffles))
    ]
    low, high = auroc_interval(predicted, labels, groups, resampled, null=null)
    p = (1 + sum(one >= auroc for one in null)) / (1 + len(null))
    if (units := len(np.unique(groups))) < FEW_UNITS:
        warn_few(units, "groups")
        p = np.nan
    chosen = _chosen(_ranks(x), labels, heads)
    centre, scale, weights, intercept = _fitted(x[:, chosen], labels)
    found: list[MonitoredHead] = []
    for number, column in enumerate(chosen):
        share, layer, head = np.unravel_index(column, shares.shape[1:])
        found.append(
            MonitoredHead(
                looks.shares[int(share)],
                layers[int(layer)],
                int(head),
                float(centre[number]),
                float(scale[number]),
                float(weights[number]),
            )
        )
    return Monitor(
        model=scope.name,
        fingerprint=model_fingerprint(scope.model),
        looks=looks,
        heads=tuple(found),
        intercept=intercept,
        auroc=auroc,
        low=low,
        high=high,
        null=float(np.percentile(null, 95)),
        p=p,
        examples=len(labels),
    )


class _Folds:
    """Held-out scores for any labels; everything independent of the labels is computed once."""

    def __init__(self, x: Floats, groups: Ints, heads: int) -> None:
        from sklearn.model_selection import GroupKFold

        self._x, self._heads = x, heads
        split: Any = GroupKFold(FOLDS).split(x, groups=groups)
        self._folds = [(seen, left, _ranks(x[seen])) for seen, left in split]

    def held_out(self, labels: Bools) -> Floats:
        found = np.zeros(len(labels))
        for seen, left, ranks in self._folds:
            own = labels[seen]
            if own.all() or not own.any():
                found[left] = 0.0
                continue
            chosen = _chosen(ranks, own, self._heads)
            centre, scale, weights, intercept = _fitted(self._x[np.ix_(seen, chosen)], own)
            found[left] = ((self._x[np.ix_(left, chosen)] - centre) / scale) @ weights + intercept
        return found


def auroc_of(scores: Floats, labels: Bools) -> float:
    """The chance that a True example scores above a False one; ties count half."""
    return float(_aurocs(_ranks(scores[:, None]), labels)[0])


def _ranks(x: Floats) -> Floats:
    from scipy.stats import rankdata

    return np.asarray(rankdata(x, axis=0), dtype=float)


def _aurocs(ranks: Floats, labels: Bools) -> Floats:
    yes = int(labels.sum())
    no = len(labels) - yes
    return (ranks[labels].sum(0) - yes * (yes + 1) / 2) / max(1, yes * no)


def _chosen(ranks: Floats, labels: Bools, heads: int) -> Ints:
    """The columns that separate best alone, in either direction."""
    apart = np.abs(_aurocs(ranks, labels) - 0.5)
    return np.argsort(-apart, kind="stable")[:heads]


def _fitted(x: Floats, labels: Bools) -> tuple[Floats, Floats, Floats, float]:
    from sklearn.linear_model import LogisticRegression

    centre, scale = x.mean(0), np.maximum(x.std(0), 1e-9)
    model: Any = LogisticRegression(max_iter=1000).fit((x - centre) / scale, labels)
    return centre, scale, np.asarray(model.coef_[0], dtype=float), float(model.intercept_[0])


def auroc_interval(
    scores: Floats,
    labels: Bools,
    groups: Ints,
    chance: np.random.Generator,
    resamples: int = DRAWS,
    null: Sequence[float] = (),
) -> tuple[float, float]:
    """The 95 % interval, with the error from resampling groups; NaN if groups are few.

    Resampling scores that are given does not show how much another fit would change them. AUROCs
    of fits on shuffled labels do; the larger of both errors counts.
    """
    rows = [np.flatnonzero(groups == one) for one in np.unique(groups)]
    if len(rows) < FEW_UNITS:
        return np.nan, np.nan
    draws: list[float] = []
    for _ in range(resamples):
        some = np.concatenate([rows[at] for at in chance.integers(0, len(rows), len(rows))])
        own = labels[some]
        if own.any() and not own.all():
            draws.append(auroc_of(scores[some], own))
    # if no example is out of order, the rarer label's groups decide
    fewest = min(len(np.unique(groups[labels == one])) for one in (True, False))
    value = auroc_of(scores, labels)
    error = float(np.var(draws))
    if len(null):  # an AUROC varies less the nearer it is to 1
        error = max(error, float(np.square(np.array(null) - 0.5).mean()) * 4 * value * (1 - value))
    return share_interval(value, error, len(rows), fewest)


def _shuffled(labels: Bools, groups: Ints, chance: np.random.Generator) -> Bools:
    """Shuffle labels within groups that have both, as pairs do, and among those that have one.

    Examples of one group resemble each other, so a group keeps a label that all of them have.
    """
    made = labels.copy()
    rows = [np.flatnonzero(groups == one) for one in np.unique(groups)]
    for at in rows:
        made[at] = chance.permutation(labels[at])
    alike = [at for at in rows if len(set(labels[at].tolist())) == 1]
    for at, label in zip(alike, chance.permutation([labels[at[0]] for at in alike]), strict=True):
        made[at] = label
    return made


def _looks(examples: list[Labelled]) -> Looks:
    if len(examples) < FEWEST:
        raise BadInput(f"A monitor needs {FEWEST} examples or more, not {len(examples)}.")
    every = [looks_of(one.messages, one.documents, one.answer) for one in examples]
    odd = next((at for at, one in enumerate(every, 1) if one != every[0]), None)
    if odd is not None:
        raise BadInput(
            f"Example {odd} and the first differ in whether they have an answer or documents; "
            f"give examples of one form."
        )
    if not every[0].shares:
        raise BadInput("The examples have neither answers nor documents; give either or both.")
    return every[0]


def _check_labels(labels: Bools, groups: Ints) -> None:
    if labels.all() or not labels.any():
        raise BadInput(
            f"All examples have the label {bool(labels[0])}; give some with the other label."
        )
    if len(np.unique(groups)) < FOLDS:
        raise BadInput(
            f"The examples belong to fewer than {FOLDS} groups; give examples from more groups."
        )


def _state(found: list[Floats]) -> State:
    return State({"examples": len(found)}, {"shares": np.stack(found)})
