"""Ablate: every head and every layer disabled in turn, and the effect on a task's score."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from headscope.capture import Kind
from headscope.edits.answers import Asked, OneLayer, answer_each, as_questions, questions_identity
from headscope.edits.disable import DISABLED, chosen_kind
from headscope.edits.importance import Importance, weigh_heads
from headscope.errors import BadInput
from headscope.files import check_table
from headscope.models.loading_report import check_weights
from headscope.results import HeadResult, tidy
from headscope.results.storage import write_output
from headscope.runs import ProgressCallback, Run, scope_identity
from headscope.tasks.metrics import METRICS, rank_correlation
from headscope.tasks.questions import Questions
from headscope.tasks.significance import (
    Differences,
    SplitHalf,
    enough_draws,
    paired_test,
    split_half,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from headscope.reading import Scope


What = Literal["heads", "layers"]
MEASURES: dict[What, str] = {"heads": "damage", "layers": "layer_damage"}
SURE = 0.05
SHARES = {*METRICS, "probability", "probability_difference"} - {"loss"}  # shown in points


@dataclass(frozen=True, eq=False, repr=False)
class Ablation(HeadResult):
    """Scores with one head (or one whole layer) disabled, beside the score with none."""

    model: str
    task: str
    metric: str
    higher_is_better: bool
    mode: str
    kind: Kind
    examples: int
    baseline: float
    edits: tuple[OneLayer, ...]
    layers: int
    heads: int
    differences: Differences
    halves: dict[What, SplitHalf]
    shared: bool  # False: computed by one full pass per edit
    answers: np.ndarray = field(repr=False)  # e n o
    baseline_answers: np.ndarray = field(repr=False)  # n o
    labels: np.ndarray = field(repr=False)  # n
    importance: Importance | None = field(default=None, repr=False)  # if requested

    holds: ClassVar[tuple[type, ...]] = (OneLayer, Differences, SplitHalf, Importance)

    @property
    def title(self) -> str:
        return f"{self.task}: one head or layer of {self.model} disabled ({self.mode})"

    @property
    def table(self) -> pd.DataFrame:
        """Tidy: `damage` for heads, `layer_damage` for whole layers (without a head).

        Damage is how much worse the score gets: positive if a head matters, for an accuracy and a
        loss alike.
        """
        of: Any = self.scores
        named = of["disabled"].map({"head": MEASURES["heads"], "layer": MEASURES["layers"]})
        if self.higher_is_better:
            of = of.assign(low=-of["high"], high=-of["low"])
        of = of.rename(columns={"damage": "value"})
        return tidy(of, kind=self.kind, measure=named, count=self.examples)

    @property
    def scores(self) -> pd.DataFrame:
        """One row per edit; `head` is empty for a whole layer."""
        import pandas as pd

        whole = [len(edit.heads) > 1 or self.heads == 1 for edit in self.edits]
        found = self.differences
        table = pd.DataFrame(
            {
                "task": self.task,
                "metric": self.metric,
                "disabled": ["layer" if layer else "head" for layer in whole],
                "layer": [edit.layer for edit in self.edits],
                "head": pd.array(
                    [None if w else e.heads[0] for w, e in zip(whole, self.edits, strict=True)],
                    dtype="Int64",
                ),
                "score": self.baseline + found.difference,
                "baseline": self.baseline,
                "difference": found.difference,
                "damage": self.harm * found.difference,
                "low": found.low,
                "high": found.high,
                "p": found.p,
                "p_holm": found.p_holm,
                "p_bh": found.p_bh,
            }
        )
        if self.importance is None:
            return table
        weighed = self.importance.heads[["layer", "head", "importance"]]
        return table.merge(weighed, "left", ["layer", "head"])

    @property
    def harm(self) -> float:
        """The factor that turns a difference into damage."""
        return -1.0 if self.higher_is_better else 1.0

    @property
    def scale(self) -> float:
        """The factor for display: shares in points, other numbers unchanged."""
        return 100.0 if self.metric in SHARES else 1.0

    @property
    def head_map(self) -> np.ndarray:
        """layer head: score minus baseline with that head disabled."""
        found = np.full((self.layers, self.heads), np.nan)
        for edit, difference in zip(self.edits, self.differences.difference, strict=True):
            if len(edit.heads) == 1:
                found[edit.layer, edit.heads[0]] = difference
        return found

    @property
    def layer_map(self) -> np.ndarray:
        """layer: score minus baseline with all heads of that layer disabled."""
        found = np.full(self.layers, np.nan)
        for edit, difference in zip(self.edits, self.differences.difference, strict=True):
            if len(edit.heads) == self.heads:
                found[edit.layer] = difference
        return found

    def plot(self, name: str | None = None, kind: str | None = None) -> Figure:
        """The map of differences, harm in orange; those that survive Holm's correction outlined.

        `name` is damage (heads) or layer_damage; a kind other than the ablation's own is
        refused.
        """
        from headscope.figures import layer_head_map

        what = self._what(name, kind)
        values = self.head_map if what == "heads" else self.layer_map[:, None]
        sure = [
            (edit.layer, edit.heads[0])
            for edit, p in zip(self.edits, self.differences.p_holm, strict=True)
            if p < SURE and (len(edit.heads) == 1) == (what == "heads")
        ]
        in_points = ", in points" if self.scale != 1 else ""
        return layer_head_map(
            self.scale * values,
            f"{self.task}: one {what.removesuffix('s')} disabled ({self.mode})",
            f"{self.metric} minus {self.baseline:.3f}{in_points}",
            diverging=True,
            mark=sure,
            less_is_better=not self.higher_is_better,
        )

    def _what(self, name: str | None, kind: str | None) -> What:
        if kind not in (None, self.kind):
            raise BadInput(f"The {self.kind} attention was disabled, not the {kind} attention.")
        if name is None:
            return "heads" if any(len(edit.heads) == 1 for edit in self.edits) else "layers"
        for what, measure in MEASURES.items():
            if name in (what, measure):
                return what
        known = ", ".join(MEASURES.values())
        raise BadInput(f"There is no measure {name!r} here; there are {known}.")


def single_edits(layers: Sequence[int], heads: int, what: tuple[What, ...]) -> list[OneLayer]:
    """Every head alone, then every layer alone, as requested."""
    edits: list[OneLayer] = []
    if "heads" in what:
        edits += [OneLayer(layer, (head,)) for layer in layers for head in range(heads)]
    if "layers" in what:
        edits += [OneLayer(layer, tuple(range(heads))) for layer in layers]
    return edits


def ablate(
    scope: Scope,
    task: Asked,
    *,
    metric: object = None,
    what: tuple[What, ...] = ("heads", "layers"),
    mode: str = "uniform",
    kind: Kind | None = None,
    weights: object = None,
    copies: int | None = None,
    draws: int | None = None,
    importance: bool = False,
    seed: int = 0,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> Ablation:
    """Disable every head and every layer in turn, and score the answers.

    Parameters
    ----------
    scope
        The model.
    task
        A task or a path to one, questions, or pairs of prompts, of which the clean ones are used.
    metric
        The metric, instead of the task's own: a name (accuracy, f1, loss, probability, logit, …),
        or a function of the logits, and of the targets if it takes two arguments, that returns a
        number for each example. Less is better for a function with `higher_is_better = False`.
    what
        "heads", "layers" or both.
    mode
        How heads are disabled: uniform, zero, mean, given, … or mean_output, a full pass for each
        head.
    kind
        The attention to disable; the model's own if it has one kind.
    weights
        What the mode needs, such as mean maps, or texts for mean_output.
    copies
        How many edits run side by side.
    draws
        How many bootstrap draws.
    importance
        Whether the table includes every head's gradient importance.
    seed
        Seed of the draws and of the masked words.
    limit
        How many examples at most.
    output
        File for the table; a stopped run resumes from the checkpoint beside it.
    restart
        Whether to discard a stopped run's checkpoint.
    progress
        Whether to show progress, or a function that is called with it.

    Returns
    -------
    Ablation
        The damage of each edit, with intervals and corrected p-values.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.ablate(hs.load(), "sample", what=("layers",), limit=2, progress=False)
    >>> sorted(set(found.table["measure"]))
    ['layer_damage']
    """
    kind = chosen_kind(scope, kind)
    if not what or not set(what) <= set(MEASURES):
        raise BadInput(f"what= lists any of {', '.join(MEASURES)}, not {what!r}.")
    if output is not None:
        check_table(output, "An ablation")
    check_weights(scope.model, scope.name)
    DISABLED.of(scope)
    questions = as_questions(scope, task, limit, seed, metric)
    layers, heads = scope.layers[kind], scope.heads[kind]
    edits = single_edits(scope.layer_numbers[kind], heads, what)
    identity = {
        **scope_identity(scope),
        **questions_identity(questions),
        "settings": [what, mode, kind, weights, importance],
    }
    title = f"Disabling heads on {questions.name}"
    with Run(output, identity, title=title, restart=restart, progress=progress) as run:
        swept = answer_each(
            scope, questions, edits, mode=mode, kind=kind, weights=weights, copies=copies, run=run
        )
        found = judged(
            scope.name, questions, edits, swept.baseline, swept.edited,
            mode=mode, kind=kind, layers=layers, heads=heads, shared=swept.shared,
            draws=draws, seed=seed,
        )  # fmt: skip
        if importance and "heads" in what:
            weighed = weigh_heads(run, scope, questions, "example", kind)
            found = dataclasses.replace(found, importance=weighed)
        if output is not None:
            write_output(found, output, found.scores)
    return found


def judged(
    model: str,
    questions: Questions,
    edits: list[OneLayer],
    baseline: np.ndarray,
    edited: np.ndarray,
    *,
    mode: str,
    kind: Kind,
    layers: int,
    heads: int,
    shared: bool,
    draws: int | None = None,
    seed: int = 0,
) -> Ablation:
    """The scores of the answers, with intervals, corrections and split halves.

    Heads and layers are two families of comparisons: each is corrected for its own number.
    """
    metric, labels = questions.metric, questions.labels
    alone = np.array([len(edit.heads) == 1 for edit in edits])
    groups: dict[What, np.ndarray] = {
        "heads": np.flatnonzero(alone),
        "layers": np.flatnonzero(~alone),
    }
    columns = {name: np.empty(len(edits)) for name in Differences.__dataclass_fields__}
    halves: dict[What, SplitHalf] = {}
    for what, chosen in groups.items():
        if not len(chosen):
            continue
        count = draws or enough_draws(len(chosen))
        found = paired_test(metric, baseline, edited[chosen], labels, count, seed)
        for name, column in columns.items():
            column[chosen] = getattr(found, name)
        halves[what] = split_half(metric, baseline, edited[chosen], labels, seed=seed)
    return Ablation(
        model=model,
        task=questions.name,
        metric=metric.name,
        higher_is_better=metric.higher_is_better,
        mode=mode,
        kind=kind,
        examples=len(labels),
        baseline=metric(baseline, labels),
        edits=tuple(edits),
        layers=layers,
        heads=heads,
        differences=Differences(**columns),
        halves=halves,
        shared=shared,
        answers=edited,
        baseline_answers=baseline,
        labels=labels,
    )


# Agreement of gradient importance with disabling heads one at a time.


def agreement(weighed: Importance, disabled: Ablation) -> float:
    """The rank correlation of heads' importance with the score's loss without them."""
    lost = disabled.harm * disabled.head_map
    return float(np.nan_to_num(rank_correlation(weighed.size.ravel(), lost.ravel())))
