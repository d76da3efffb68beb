"""Section 4.1: how many maps are vertical, diagonal, both, block or heterogeneous (Fig. 2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from headscope.studies.kovaleva.inputs import KovalevaInputs

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Reading, Scope
    from headscope.runs import Run
    from headscope.studies.report import Report

BATCH = 8


def add(report: Report, inputs: KovalevaInputs, run: Run) -> None:
    from headscope.patterns.kinds import KINDS

    section = report.section(
        "Kinds of map",
        "Every head's map on every text is put into one of five kinds by the map classifier. The "
        "paper trained its own network on about 400 hand-labelled maps; labels and network were "
        "not released, so the two classifiers agree in the definitions, not in the details.",
    )
    try:
        table: Any = run.table("map_kinds", lambda: _shares(inputs, run))
    except FileNotFoundError:
        section.note("Left out: this installation lacks the map classifier's weights.")
        return
    paper = inputs.paper["map_kinds_percent"]
    for kind in KINDS:
        table[f"{kind} (paper)"] = [paper.get(task, {}).get(kind) for task in table["task"]]
    columns = ["task", "model", "texts"]
    for kind in KINDS:
        columns += [kind, f"{kind} (paper)"]
    section.table(
        "map_kinds",
        table[columns],
        "Share of maps of each kind in percent; the paper's, from models fine-tuned on the task, "
        "beside ours.",
        published=[f"{kind} (paper)" for kind in KINDS],
        digits=1,
    )
    section.note(
        "The paper's text says that 32 % (MRPC) to 61 % (QQP) of maps are heterogeneous; in its "
        "figure those are heterogeneous and block together."
    )


def _shares(inputs: KovalevaInputs, run: Run) -> pd.DataFrame:
    import pandas as pd

    from headscope.patterns.kinds import KINDS, shares

    rows: list[dict[str, Any]] = []
    name, pairs = inputs.texts
    work: list[tuple[str, str, Scope, list[tuple[str, str | None]]]] = []
    for task, data in inputs.tasks.items():
        given = list(zip(data.texts, data.text_pairs or [None] * len(data), strict=True))
        work.append((task, "pre-trained", inputs.scope, given))
        if task in inputs.tuned:
            work.append((task, "fine-tuned", inputs.tuned[task], given))
    if not work:
        work.append((name, "pre-trained", inputs.scope, [(a, b) for a, b in pairs]))
    for task, state, scope, texts in work:
        found: Any = shares(_readings(scope, texts, run, f"{task}, {state}"))
        mean = found[list(KINDS)].mean() * 100
        rows.append({"task": task, "model": state, "texts": len(texts), **mean.to_dict()})
    return pd.DataFrame(rows)


def _readings(
    scope: Scope, texts: list[tuple[str, str | None]], run: Run, label: str
) -> Iterator[Reading]:
    starts = range(0, len(texts), BATCH)
    for start in run.track(starts, f"kinds of map: {label}", len(starts)):
        part = texts[start : start + BATCH]
        yield from scope.read_batch(
            [text for text, _ in part],
            [pair for _, pair in part],
            keep=("weights",),
            truncate=True,
        )
