"""Coreference heads: which head attends from a mention to its antecedent.

After Clark et al. 2019, section 4.3. Documents alternate between choosing heads and scoring
them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.checked import checked
from headscope.corpus.bad_data import Choice, Faults
from headscope.corpus.coreference.corpus import CoreferenceCorpus
from headscope.corpus.coreference.documents import CoreferenceDocument
from headscope.probes.cases import Cases, against_baseline
from headscope.probes.coreference.cases import KINDS, Windows, reading_windows
from headscope.probes.coreference.rules import RULES
from headscope.probes.coreference.tally import (
    CANDIDATES,
    DIRECTIONS,
    ChosenHead,
    CoreferenceTally,
)
from headscope.probes.data import Data
from headscope.probes.passes import (
    PAPER_LENGTH,
    check_nonempty,
    length_limit,
    run_pass,
    self_attention,
)
from headscope.probes.probe_run import probe_run
from headscope.probes.result import ProbeResult
from headscope.probes.word_level import Mode
from headscope.results import of_layers, tidy
from headscope.results.storage import write_output
from headscope.runs import ProgressCallback
from headscope.statistics.significance import FEWEST, warn_few

if TYPE_CHECKING:
    from headscope.reading import Scope

GROUPS = ("all", *KINDS)
CASE_COLUMNS = [
    "method", "candidates", "mentions", "window", "where", "text", "mention_at", "mention",
    "antecedents_at", "antecedents", "choice_at", "choice", "right", "baseline_right",
]  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class CoreferenceResult(ProbeResult):
    """The best heads beside the baselines, and every head's accuracy."""

    summary: pd.DataFrame  # a row a method: accuracy on all, pronoun, proper and nominal mentions
    heads: pd.DataFrame  # candidates, direction, mentions, layer, head, accuracy, cases
    mentions: dict[str, int]  # mentions scored, by kind
    documents: int
    dropped_mentions: int
    cases: pd.DataFrame = field(repr=False)  # a row a scored mention and best head: its choice

    @property
    def title(self) -> str:
        return "Coreference heads"

    @property
    def table(self) -> pd.DataFrame:
        """Every head's accuracy, such as "pronoun mention→antecedent among mentions"."""
        of = self.heads.rename(columns={"accuracy": "value", "cases": "count"})
        named = of["mentions"] + " " + of["direction"] + " among " + of["candidates"]
        return tidy(of, kind=self.kind, measure=named)

    def rows(self, name: str | None = None, kind: str | None = None) -> pd.DataFrame:
        """A bare kind of mention ("all", "pronoun") means its best head's direction, among
        mentions."""
        name = name or GROUPS[0]
        ways = [f"{name} {direction} among mentions" for direction in DIRECTIONS]
        return self.rows_of_best(ways, name, kind)


@checked
def coreference(
    scope: Scope,
    documents: str | Path | Iterable[CoreferenceDocument],
    *,
    windows: Windows = "first",
    mode: Mode = "mean",
    max_tokens: int | None = PAPER_LENGTH,
    seed: int = 0,
    bad_data: Choice = "skip",
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> CoreferenceResult:
    """Which head attends from a mention to what it refers back to.

    Parameters
    ----------
    scope
        The model, as `hs.load` opens it.
    documents
        CoNLL-2012, CoNLL-U with entities, GAP, or "sample".
    windows
        The "first" window of every document, or "all".
    mode, max_tokens, seed, bad_data, limit, output, restart, progress
        As for `dependency`.

    Returns
    -------
    CoreferenceResult
        Every head's accuracy, the best heads scored on the other half of the documents against
        a rule, and in `cases` every scored mention with what the best heads chose.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.probe.coreference(hs.load(), "sample", limit=2, progress=False)
    >>> "layer" in found.table
    True
    """
    faults, kind = Faults(bad_data), self_attention(scope)
    layers, heads = scope.layers[kind], scope.heads[kind]
    longest = length_limit(scope, max_tokens)
    if isinstance(documents, (str, Path)):
        documents = CoreferenceCorpus(documents, bad_data)
    data = Data(documents, limit)
    with probe_run(scope, [data], [windows, mode, max_tokens, seed], title="Coreference",
                   output=output, restart=restart, progress=progress) as run:  # fmt: skip

        def read(half: int, tally: CoreferenceTally) -> None:
            items = reading_windows(scope, data.part(half), longest, windows)
            total = (len(data) + 1 - half) // 2 if windows == "first" else None
            run.title = ("Choosing heads", "Scoring heads")[half]
            run_pass(scope, items, tally, faults, max_tokens=max_tokens, mode=mode, run=run,
                     name=("choosing", "scoring")[half], total=total)  # fmt: skip
            check_nonempty(int(tally.counts.sum()), "mentions with an antecedent", faults)

        chooser = CoreferenceTally(layers, heads)
        read(0, chooser)
        picks = _choose(chooser, seed, scope.layer_numbers[kind])
        scorer = CoreferenceTally(layers, heads, [head for _, head in picks], seed)
        read(1, scorer)
        data.faults_into(faults)
        cases = case_table(scorer.cases, picks)
        found = CoreferenceResult(
            summary=_table(scorer, picks, cases, seed),
            heads=of_layers(_every_head(scorer), scope.layer_numbers[kind]),
            mentions=dict(zip(GROUPS, _grouped(scorer.counts).tolist(), strict=True)),
            documents=chooser.documents + scorer.documents,
            dropped_mentions=chooser.dropped + scorer.dropped,
            cases=cases,
            faults=faults,
            kind=kind,
        )
        if output is not None:
            write_output(found, output, found.summary, heads=found.heads, cases=found.cases)
    return found


def _grouped(by_kind: NDArray[np.int64]) -> NDArray[np.int64]:
    """kinds … → all and kinds …"""
    return np.concatenate([by_kind.sum(axis=0, keepdims=True), by_kind])


def _choose(
    tally: CoreferenceTally, seed: int, attending: tuple[int, ...]
) -> list[tuple[str, ChosenHead]]:
    """For both candidate sets: the best head overall, for each kind, and one taken blindly.

    Each best head has the rule that is right most often on the same mentions as its baseline.
    """
    picks: list[tuple[str, ChosenHead]] = []
    generator = np.random.default_rng(seed)
    heads = tally.hits.shape[-1]
    blind = attending[generator.integers(len(attending))], int(generator.integers(heads))
    for candidates in range(len(CANDIDATES)):
        for group, hits in enumerate(_grouped(tally.hits[:, candidates])):
            if not hits.any():
                continue  # no such mentions: any head would do
            direction, layer, head = np.unravel_index(int(hits.argmax()), hits.shape)
            rule = int(_grouped(tally.rules)[group].argmax())
            own = group - 1 if group else None
            found = ChosenHead(candidates, int(direction), int(layer), int(head), own, rule)
            label = f"best head for {GROUPS[group]} mentions" if group else "best head"
            picks.append((label, found))
        picks.append(("fixed random head", ChosenHead(candidates, 0, *blind)))
    return picks


def case_table(cases: Cases, picks: list[tuple[str, ChosenHead]]) -> pd.DataFrame:
    """A row per mention and best head; a head chosen for one kind has the mentions of that kind."""
    rows: list[dict[str, object]] = []
    for case in cases:
        (method, pick), words = picks[case.pick], case.text.words
        mention, kind, antecedents = cast("tuple[int, str, list[int]]", case.text.gold[case.at])
        rows.append(
            {
                "method": method,
                "candidates": CANDIDATES[pick.candidates],
                "mentions": kind,
                "window": case.number,
                "where": case.text.where,
                "text": " ".join(words),
                "mention_at": mention,
                "mention": words[mention],
                "antecedents_at": " ".join(map(str, antecedents)),
                "antecedents": " ".join(words[one] for one in antecedents),
                "choice_at": case.choice,
                "choice": words[case.choice],
                "right": case.choice in antecedents,
                "baseline_right": case.baseline_right,
            }
        )
    return pd.DataFrame(rows, columns=CASE_COLUMNS)


def _table(
    tally: CoreferenceTally, picks: list[tuple[str, ChosenHead]], cases: pd.DataFrame, seed: int
) -> pd.DataFrame:
    counts = _grouped(tally.counts).astype(float)
    counts[counts == 0] = np.nan  # a share of zero cases is NaN
    low, high = tally.bootstrap.interval(share=True).reshape(2, -1, len(GROUPS))
    if tally.bootstrap.units.max(initial=0) < FEWEST:
        warn_few(int(tally.bootstrap.units.max(initial=0)), "documents")
    rows: list[dict[str, object]] = []
    for index, name in enumerate(RULES):
        right = _grouped(tally.rules)[:, index] / counts
        column = len(picks) + index
        rows.append(
            {"method": name, "candidates": "mentions"}
            | dict(zip(GROUPS, right, strict=True))
            | {"low": low[column, 0], "high": high[column, 0]}
        )
    for column, (name, pick) in enumerate(picks):
        hits = _grouped(tally.hits)[:, pick.candidates, pick.direction, pick.layer, pick.head]
        rows.append(
            {
                "method": name,
                "candidates": CANDIDATES[pick.candidates],
                "layer": pick.layer,
                "head": pick.head,
                "direction": DIRECTIONS[pick.direction],
            }
            | dict(zip(GROUPS, hits / counts, strict=True))
            | {"low": low[column, 0], "high": high[column, 0]}
        )
    columns = ["method", "candidates", "layer", "head", "direction", *GROUPS, "low", "high"]
    table = pd.DataFrame(rows).reindex(columns=columns)
    paired = _paired(picks, cases, seed).set_index("row")
    return table.join(paired).astype({"layer": "Int64", "head": "Int64"})


def _paired(picks: list[tuple[str, ChosenHead]], cases: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Each best head against its rule on the mentions it was chosen for; `row` in the table."""
    found: list[dict[str, object]] = []
    groups: list[pd.DataFrame] = []
    for column, (name, pick) in enumerate(picks):
        if pick.rule is None:
            continue
        named = (cases["method"] == name) & (cases["candidates"] == CANDIDATES[pick.candidates])
        own = cases.loc[named]
        groups.append(own)
        above = (
            float(
                own["right"].to_numpy(float).mean() - own["baseline_right"].to_numpy(float).mean()
            )
            if len(own)
            else np.nan
        )
        row = len(RULES) + column
        found.append({"row": row, "baseline": list(RULES)[pick.rule], "above_baseline": above})
    return pd.DataFrame(found).join(against_baseline(groups, "window", seed))


def _every_head(tally: CoreferenceTally) -> pd.DataFrame:
    frames: list[pd.DataFrame] = []
    hits, counts = _grouped(tally.hits), _grouped(tally.counts)
    layer, head = np.indices(hits.shape[-2:])
    for group, name in enumerate(GROUPS):
        for candidates, of in enumerate(CANDIDATES):
            for direction, way in enumerate(DIRECTIONS):
                if not counts[group]:
                    continue
                accuracy = hits[group, candidates, direction] / counts[group]
                frames.append(
                    pd.DataFrame(
                        {
                            "mentions": name,
                            "candidates": of,
                            "direction": way,
                            "layer": layer.ravel(),
                            "head": head.ravel(),
                            "accuracy": accuracy.ravel(),
                            "cases": int(counts[group]),
                        }
                    )
                )
    return pd.concat(frames, ignore_index=True)
