"""Dependency heads: which head attends from a word to its governor, or back.

After Clark et al. 2019, section 4.2. Heads and offsets are chosen on one part of the data and
scored on another, so that the best of many is not flattered by the choice.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.checked import checked
from headscope.corpus.bad_data import Choice, Faults
from headscope.errors import BadInput, FewUnits
from headscope.probes.cases import Cases, against_baseline
from headscope.probes.data import Data, Trees, trees
from headscope.probes.dependency.gold import Possessive
from headscope.probes.dependency.offsets import OFFSETS
from headscope.probes.dependency.tally import DIRECTIONS, Chosen, DependencyTally
from headscope.probes.passes import PAPER_LENGTH, check_nonempty, run_pass, self_attention
from headscope.probes.probe_run import probe_run
from headscope.probes.result import ProbeResult
from headscope.probes.word_level import Mode
from headscope.results import of_layers, tidy
from headscope.results.result import head_array
from headscope.results.storage import write_output
from headscope.runs import ProgressCallback
from headscope.statistics.significance import FEWEST, warn_few

if TYPE_CHECKING:
    from headscope.reading import Scope

Subtypes = Literal["keep", "fold"]
ALL = "all"
CASE_COLUMNS = [
    "relation", "sentence", "where", "text", "dependent_at", "dependent", "governor_at",
    "governor", "choice_at", "choice", "right", "baseline_right",
]  # fmt: skip
UNSCORED = ("root", "punct", "ROOT", "dep")  # counted in "all", without rows of their own


@dataclass(frozen=True, eq=False, repr=False)
class DependencyResult(ProbeResult):
    """The best head of each relation, and every head's accuracy."""

    summary: pd.DataFrame  # a row a relation: its best head, accuracy, interval, baseline
    heads: pd.DataFrame  # relation, direction, layer, head, accuracy, count on the scored part
    layers: int
    heads_per_layer: int
    sentences: int
    dropped_words: int
    cases: pd.DataFrame = field(repr=False)  # a row a scored word: what its head chose
    hidden: dict[str, int] = field(repr=False)  # relations with fewer than `minimum` cases

    @property
    def title(self) -> str:
        return "Dependency heads"

    @property
    def table(self) -> pd.DataFrame:
        """Every head's accuracy; the measure is a relation and a direction, "nsubj dep→head"."""
        of = self.heads.rename(columns={"accuracy": "value", "cases": "count"})
        return tidy(of, kind=self.kind, measure=of["relation"] + " " + of["direction"])

    def rows(self, name: str | None = None, kind: str | None = None) -> pd.DataFrame:
        """A relation by itself means the direction in which its best head reads it."""
        name = name or ALL
        ways = [f"{name} {direction}" for direction in DIRECTIONS]
        return self.rows_of_best(ways, name, kind)

    def accuracy_map(self, relation: str, direction: str) -> NDArray[np.float64]:
        """layers × heads: the accuracy of every head for one relation and direction."""
        rows = self.heads.loc[
            (self.heads["relation"] == relation) & (self.heads["direction"] == direction)
        ]
        if rows.empty:
            raise BadInput(f"The data has no relation {relation!r} ({direction}).")
        rows = rows.rename(columns={"accuracy": "value"})
        return head_array(rows, self.layers, self.heads_per_layer)


@checked
def dependency(
    scope: Scope,
    treebank: Trees,
    test: Trees | None = None,
    *,
    subtypes: Subtypes = "keep",
    possessive: Possessive = "word",
    mode: Mode = "mean",
    max_tokens: int | None = PAPER_LENGTH,
    minimum: int = 100,
    seed: int = 0,
    bad_data: Choice = "skip",
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> DependencyResult:
    """Which head attends from a word to its syntactic governor, or back, relation by relation.

    Parameters
    ----------
    scope
        The model, as `hs.load` opens it.
    treebank
        Sentences with trees: CoNLL-U, plain text (parsed by spaCy), or "sample".
    test
        The treebank that the best heads are scored on; every second sentence if left out.
    subtypes
        "keep" nsubj:pass apart from nsubj, or "fold" the two.
    possessive
        Whether a possessor is scored by its "word" or its "marker".
    mode
        Whether the "mean" of a word's pieces or the "first" piece speaks for the word.
    max_tokens
        Longer sentences are left out.
    minimum
        The number of cases a relation needs for a row; a warning names the others.
    seed
        Of everything drawn at random.
    bad_data
        "skip" and count data that cannot be read, or "refuse" it.
    limit
        Only the first sentences.
    output
        A .csv or .parquet file to write; a stopped run resumes from it.
    restart
        Whether to start over instead of resuming.
    progress
        Whether to show progress, or a function that is called with it.

    Returns
    -------
    DependencyResult
        The best heads, every head's accuracy on every relation, and `cases`: every scored word
        with its governor and what its relation's head chose. `summary` compares head and offset
        case by case; `hidden` lists relations with fewer than `minimum` cases.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.probe.dependency(hs.load(), "sample", limit=8, minimum=1, progress=False)
    >>> "layer" in found.table
    True
    """
    faults, kind = Faults(bad_data), self_attention(scope)
    layers, heads = scope.layers[kind], scope.heads[kind]
    first = Data(trees(treebank, bad_data), limit)
    second = None if test is None else Data(trees(test, bad_data), limit)
    given = [data for data in (first, second) if data is not None]
    settings = [subtypes, possessive, mode, max_tokens, seed]
    with probe_run(scope, given, settings, title="Dependencies",
                   output=output, restart=restart, progress=progress) as run:  # fmt: skip

        def read(which: int, tally: DependencyTally, what: str) -> None:
            whole = (first, second)[which] if second is not None else None
            items = first.part(which) if whole is None else whole
            total = (len(first) + 1 - which) // 2 if whole is None else len(whole)
            run.title = ("Choosing heads", "Scoring heads")[which]
            run_pass(scope, items, tally, faults, max_tokens=max_tokens, mode=mode, run=run,
                     name=("choosing", "scoring")[which], total=total)  # fmt: skip
            check_nonempty(int(tally.counts.sum()), what, faults)

        chooser = DependencyTally(layers, heads, possessive=possessive)
        read(0, chooser, "words")
        picks = _choose(chooser, subtypes, scope.layer_numbers[kind])
        scorer = DependencyTally(layers, heads, [pick.head for pick in picks], seed, possessive)
        read(1, scorer, "words to score")
        for data in (first, *(() if second is None or test is treebank else (second,))):
            data.faults_into(faults)
        every = of_layers(_every_head(scorer, picks), scope.layer_numbers[kind])
        cases = case_table(scorer.cases, [pick.relation for pick in picks])
        cases = cases.loc[~cases["relation"].isin(UNSCORED)].reset_index(drop=True)
        summary, hidden = _table(scorer, picks, minimum)
        # the head of "all" reads every word; the cases are those of each relation's own head
        scored = (summary["relation"] != ALL).to_numpy()
        own = (cases.loc[cases["relation"] == name] for name in summary.loc[scored, "relation"])
        beside = against_baseline(own, "sentence", seed)
        summary = summary.join(beside.set_index(summary.index[scored]))
        found = DependencyResult(
            summary, every, layers, heads,
            sentences=chooser.sentences + scorer.sentences,
            dropped_words=chooser.dropped + scorer.dropped, cases=cases, hidden=hidden,
            faults=faults, kind=kind,
        )  # fmt: skip
        if output is not None:
            write_output(found, output, found.summary, heads=found.heads, cases=found.cases)
    return found


def case_table(cases: Cases, relations: Sequence[str]) -> pd.DataFrame:
    """A row per case; `relations` are the picks' names."""
    rows = [
        {
            "relation": relations[case.pick],
            "sentence": case.number,
            "where": case.text.where,
            "text": " ".join(words := case.text.words),
            "dependent_at": case.at,
            "dependent": words[case.at],
            "governor_at": (governor := case.text.gold[case.at]),
            "governor": "(root)" if governor < 0 else words[governor],
            "choice_at": case.choice,
            "choice": words[case.choice],
            "right": case.choice == governor,
            "baseline_right": case.baseline_right,
        }
        for case in cases
    ]
    return pd.DataFrame(rows, columns=CASE_COLUMNS)


@dataclass(frozen=True)
class _Pick:
    relation: str
    head: Chosen
    dev_accuracy: float
    dev_count: int


def _named(label: str, subtypes: Subtypes) -> str:
    return label.partition(":")[0] if subtypes == "fold" else label


def _choose(tally: DependencyTally, subtypes: Subtypes, attending: tuple[int, ...]) -> list[_Pick]:
    """For every relation the head, direction and offset that are right most often."""
    groups: dict[str, frozenset[str] | None] = {ALL: None}
    for label in tally.labels:
        name = _named(label, subtypes)
        groups[name] = frozenset((groups.get(name) or frozenset()) | {label})
    picks: list[_Pick] = []
    for name, members in groups.items():
        rows = _rows(tally, members)
        count = int(tally.counts[rows].sum())
        if not count:
            continue
        hits = tally.hits[rows].sum(axis=0)[list(attending)]  # layer head direction
        layer, head, direction = np.unravel_index(int(hits.argmax()), hits.shape)
        offset = int(tally.offset_hits[rows].sum(axis=0).argmax())
        chosen = Chosen(attending[layer], int(head), int(direction), members, offset)
        picks.append(_Pick(name, chosen, float(hits.max()) / count, count))
    return picks


def _rows(tally: DependencyTally, members: frozenset[str] | None) -> list[int]:
    return [n for label, n in tally.labels.items() if members is None or label in members]


def _table(
    tally: DependencyTally, picks: list[_Pick], minimum: int
) -> tuple[pd.DataFrame, dict[str, int]]:
    """A row per relation, and the relations that have too few cases for one."""
    low, high = tally.bootstrap.interval(share=True)
    if tally.bootstrap.units.max(initial=0) < FEWEST:
        warn_few(int(tally.bootstrap.units.max(initial=0)), "sentences")
    found: list[dict[str, object]] = []
    hidden: dict[str, int] = {}
    for column, pick in enumerate(picks):
        rows = _rows(tally, pick.head.relations)
        count = int(tally.counts[rows].sum())
        if not count or pick.relation in UNSCORED:
            continue
        if count < minimum:
            hidden[pick.relation] = count
            continue
        head = pick.head
        hits = int(tally.hits[rows, head.layer, head.head, head.direction].sum())
        found.append(
            {
                "relation": pick.relation,
                "cases": count,
                "layer": head.layer,
                "head": head.head,
                "direction": DIRECTIONS[head.direction],
                "accuracy": hits / count,
                "low": low[column],
                "high": high[column],
                "baseline": int(tally.offset_hits[rows, head.offset].sum()) / count,
                "offset": OFFSETS[head.offset],
                "dev_accuracy": pick.dev_accuracy,
                "dev_cases": pick.dev_count,
            }
        )
    if not found:
        raise BadInput(f"No relation has {minimum} cases; lower the minimum or give more data.")
    if hidden:
        listed = ", ".join(f"{name} ({count})" for name, count in hidden.items())
        warnings.warn(
            f"Relations with fewer than {minimum} cases have no row: {listed}. Lower the minimum "
            "to see them.",
            FewUnits,
            stacklevel=3,
        )
    found.sort(key=lambda row: -cast(int, row["cases"]))  # "all" has the most
    table = pd.DataFrame(found)
    table["above_baseline"] = table["accuracy"] - table["baseline"]
    return table, hidden


def _every_head(tally: DependencyTally, picks: list[_Pick]) -> pd.DataFrame:
    frames: list[pd.DataFrame] = []
    for pick in picks:
        rows = _rows(tally, pick.head.relations)
        count = int(tally.counts[rows].sum())
        if not count:
            continue
        hits = tally.hits[rows].sum(axis=0)  # layer head direction
        for number, direction in enumerate(DIRECTIONS):
            layer, head = np.indices(hits.shape[:2])
            frames.append(
                pd.DataFrame(
                    {
                        "relation": pick.relation,
                        "direction": direction,
                        "layer": layer.ravel(),
                        "head": head.ravel(),
                        "accuracy": hits[:, :, number].ravel() / count,
                        "cases": count,
                    }
                )
            )
    return pd.concat(frames, ignore_index=True)
