"""The effect of disabling each head on tasks, beside the head's other numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from headscope.edits.ablate import Ablation
from headscope.errors import BadInput
from headscope.views.shared.numbers import Table

Ablations = Ablation | Sequence[Ablation]


def listed(ablations: Ablations | None, table: Table) -> list[Ablation]:
    """The given ablations; each must match this table's heads."""
    given = [ablations] if isinstance(ablations, Ablation) else list(ablations or ())
    shape = (len(table.layers), table.heads)
    for one in given:
        if not isinstance(one, Ablation):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadInput("ablations= is a result of hs.ablate(scope, task), or a list of them.")
        if (one.kind, one.layers, one.heads) != (table.kind, *shape):
            raise BadInput(
                f"The ablation is of {one.layers} × {one.heads} {one.kind} heads of {one.model}; "
                f"here are {shape[0]} × {shape[1]} {table.kind} heads."
            )
    return given


def column_names(ablations: Sequence[Ablation]) -> list[str]:
    """A column name for each ablation's difference; with the mode if tasks repeat."""
    tasks = [one.task for one in ablations]
    return [
        f"without it, {one.task}" + (f" ({one.mode})" if tasks.count(one.task) > 1 else "")
        for one in ablations
    ]


def with_differences(table: Table, ablations: Sequence[Ablation]) -> Table:
    """The table with a column for each ablation: score minus baseline."""
    found = zip(column_names(ablations), ablations, strict=True)
    return replace(table, columns={**table.columns, **{name: one.head_map for name, one in found}})


def described(ablations: Sequence[Ablation]) -> list[dict[str, Any]]:
    return [
        {
            "column": name,
            "task": one.task,
            "metric": one.metric,
            "mode": one.mode,
            "baseline": one.baseline,
            "examples": one.examples,
            "higher_is_better": one.higher_is_better,
        }
        for name, one in zip(column_names(ablations), ablations, strict=True)
    ]


def of_each_head(
    ablations: Sequence[Ablation], layers: Sequence[int], heads: int
) -> list[list[list[float | None] | None]]:
    """For every head, layer by layer, and every ablation: score, low, high and p; None: not run.

    With too few examples, interval and p are None too.
    """
    by_head: list[dict[tuple[int, int], list[float | None]]] = []
    for one in ablations:
        rows: Any = one.scores[one.scores["disabled"] == "head"]
        by_head.append(
            {
                (int(row.layer), int(row.head)): [
                    None if math.isnan(one) else float(one)
                    for one in (row.score, row.low, row.high, row.p_holm)
                ]
                for row in rows.itertuples()
            }
        )
    every = [(layer, head) for layer in layers for head in range(heads)]
    return [[found.get(at) for found in by_head] for at in every]
