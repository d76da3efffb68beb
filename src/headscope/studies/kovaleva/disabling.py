"""Section 4.6: heads and layers disabled in turn (Figs. 8 and 9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.studies.kovaleva.inputs import KovalevaInputs, how_to_supply

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.runs import Run
    from headscope.studies.report import Report
    from headscope.tasks.task import Task

LANGUAGE = 200  # texts for the language loss of the pre-trained model


def add(report: Report, inputs: KovalevaInputs, run: Run) -> None:
    section = report.section(
        "Heads and layers disabled",
        "A disabled head attends uniformly, 1/L over the L tokens, its values untouched. With a "
        "few hundred examples and a hundred heads the best head is mostly luck, so every "
        "difference has a paired-bootstrap interval and a p-value corrected for all heads (Holm), "
        "and the last columns show what is left of the best and the worst head when they are "
        "chosen on one half of the examples and scored on the other.",
    )
    work: list[tuple[str, Scope, Task]] = [
        (task, scope, inputs.tasks[task]) for task, scope in inputs.tuned.items()
    ]
    if not work:
        section.note(f"No fine-tuned model was found. {how_to_supply('RTE')}")
    language = _language(inputs)
    if language is not None:
        work.append(("masked words" if language.kind == "masked" else "next tokens",
                     inputs.scope, language))  # fmt: skip
    summaries: list[dict[str, Any]] = []
    for name, scope, task in work:
        table: Any = run.table(
            f"disabled_{name.replace(' ', '_')}",
            lambda scope=scope, task=task, name=name: _ablate(scope, task, name, run),
        )
        summaries += _summary(name, table, inputs)
        _figure(section, name, table)
        sure = _sure(table)
        if sure.empty:
            section.text(f"{name}: nothing stays different after correction for all comparisons.")
            continue
        section.table(
            f"disabled_{name.replace(' ', '_')}_sure",
            sure,
            f"{name}: what stays different after correction for all comparisons.",
            digits=4,
        )
    if summaries:
        import pandas as pd

        section.table(
            "disabled", pd.DataFrame(summaries),
            "Differences in points (loss in hundredths of a nat). Paper: bert-base-uncased, best "
            "and worst of 144 heads or 12 layers, no correction.",
            published=["paper best", "paper worst"], digits=2,
        )  # fmt: skip
        section.note(
            "The paper reports gains up to +1.2 points for a head and +3.2 for a layer (RTE, 277 "
            "examples: one example is 0.36 points). Its sentence that QNLI and MNLI drop by up "
            "to 0.2 describes its best layer, not its worst; and the baselines of its Figs. 8 "
            "and 9 are not those of its Table 1."
        )


def _language(inputs: KovalevaInputs) -> Task | None:
    """The loss on the text itself, for models that predict words."""
    from headscope.tasks.task import language_task

    name = type(inputs.scope.model).__name__
    masked = "MaskedLM" in name or "PreTraining" in name
    if not masked and not ("CausalLM" in name or "LMHead" in name):
        return None
    _, pairs = inputs.texts
    texts = [text for pair in pairs for text in pair][: min(LANGUAGE, inputs.limit)]
    return language_task("text", texts, "masked" if masked else "next")


def _ablate(scope: Scope, task: Task, name: str, run: Run) -> Any:
    from headscope.edits.ablate import ablate
    from headscope.tasks.questions import make_questions

    found = ablate(
        scope, make_questions(scope, task, batch_size=16), progress=run.show,
        output=run.place(f"disabled_{name.replace(' ', '_')}.ablate.parquet"),
    )  # fmt: skip
    table: Any = found.scores
    table["examples"] = found.examples
    table["higher_is_better"] = found.higher_is_better
    for what, halves in found.halves.items():
        rows = table["disabled"] == what.removesuffix("s")
        table.loc[rows, "half_best"] = halves.reported_best
        table.loc[rows, "half_worst"] = halves.reported_worst
    return table


def _summary(name: str, table: Any, inputs: KovalevaInputs) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    figures = {"head": "heads_disabled", "layer": "layers_disabled"}
    for disabled, figure in figures.items():
        part = table[table["disabled"] == disabled]
        better = bool(part["higher_is_better"].iloc[0])
        ordered = part.sort_values("difference", ascending=not better)
        best, worst = ordered.iloc[0], ordered.iloc[-1]
        paper = inputs.paper[figure].get(name)
        scores = None if paper is None else np.asarray(paper["scores"], float) - paper["baseline"]
        rows.append(
            {
                "task": name,
                "disabled": disabled,
                "metric": part["metric"].iloc[0],
                "examples": int(part["examples"].iloc[0]),
                "baseline": 100 * float(part["baseline"].iloc[0]),
                "best": _place(best),
                "best points": 100 * float(best["difference"]),
                "best, other half": 100 * float(best["half_best"]),
                "worst": _place(worst),
                "worst points": 100 * float(worst["difference"]),
                "worst, other half": 100 * float(worst["half_worst"]),
                "surely different": None
                if part["p_holm"].isna().all()
                else int((part["p_holm"] < 0.05).sum()),
                "paper best": None if scores is None else 100 * float(scores.max()),
                "paper worst": None if scores is None else 100 * float(scores.min()),
            }
        )
    return rows


def _sure(table: Any) -> Any:
    """The edits with a significant difference after correction, by name."""
    rows = table[table["p_holm"] < 0.05].copy()
    rows.insert(0, "without", [_place(row) for row in rows.to_dict("records")])
    return rows[["without", "score", "difference", "low", "high", "p_holm", "p_bh"]]


def _place(row: Any) -> str:
    layer = int(row["layer"])
    return f"layer {layer}" if row["disabled"] == "layer" else f"{layer}-{int(row['head'])}"


def _figure(section: Any, name: str, table: Any) -> None:
    from headscope.figures import layer_head_map

    heads = table[table["disabled"] == "head"]
    values = np.asarray(heads["difference"], float).reshape(int(heads["layer"].max()) + 1, -1)
    sure = heads[heads["p_holm"] < 0.05]
    mark = [(int(row["layer"]), int(row["head"])) for row in sure.to_dict("records")]
    metric, baseline = heads["metric"].iloc[0], float(heads["baseline"].iloc[0])
    section.figure(
        f"disabled_{name.replace(' ', '_')}",
        layer_head_map(
            100 * values, f"{name}: one head disabled", f"{metric} minus {baseline:.3f}, ×100",
            diverging=True, mark=mark, less_is_better=not heads["higher_is_better"].iloc[0],
        ),
        f"{name}: change of the score with each head disabled, harm in orange; outlined where it "
        "survives correction for all heads.",
    )  # fmt: skip
