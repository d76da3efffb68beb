"""Section 4.2, Table 1 and Fig. 5: heads for dependency relations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from headscope.corpus.sample import STORIES
from headscope.corpus.treebanks.treebank import Treebank
from headscope.probes.dependency.heads import dependency as probe_dependency
from headscope.probes.drawings import rows_by_heads, sentence_lines
from headscope.studies.clark.inputs import ClarkInputs, reference
from headscope.studies.pieces import Section

if TYPE_CHECKING:
    from headscope.runs import Run

DRAWN = ("obj", "dobj", "det", "nmod:poss", "case", "nsubj", "aux")


def dependency(section: Section, inputs: ClarkInputs, run: Run) -> pd.DataFrame:
    """The best head of each relation beside the paper's, and drawings of some."""
    path = inputs.treebank_or_sample()
    dev = Treebank(path, limit=inputs.limit)
    test = inputs.treebank("test") if path != STORIES else None
    scored = Treebank(test, limit=inputs.limit) if test else None
    small = path == STORIES or (inputs.limit is not None and inputs.limit < 1000)

    def compute() -> pd.DataFrame:
        least = 5 if small else 100
        found = probe_dependency(
            inputs.scope, dev, scored, possessive="marker", minimum=least,
            output=run.place("dependency.probe.parquet"), progress=run.show,
        )  # fmt: skip
        every = found.heads.merge(found.summary[["relation"]], on="relation")
        table = found.summary.assign(part="table")
        return pd.concat([table, every.assign(part="heads")]).assign(faults=found.faults.summary())

    both: Any = run.table("dependency", compute)
    table: pd.DataFrame = (
        both[both["part"] == "table"].dropna(axis=1, how="all").drop(columns=["part", "faults"])
    )
    shown = _beside_paper(table)
    section.table("dependency", shown, "Table 1: chosen on one part, scored on another.",
                  published=[c for c in shown.columns if c.startswith("paper")])  # fmt: skip
    section.figure("dependency_map", _map(both, table), "The better direction of every head.")
    section.text(
        "The paper's corpus is the Wall Street Journal in Stanford Dependencies, so accuracies "
        "are not comparable; which kind of head wins and by how much over its baseline is. `case` "
        "stands for the paper's `pobj` (the preposition attends to its object). A possessor is "
        "scored by what its `'s` attends to, as in the paper's code."
    )
    if faults := both["faults"].iloc[0]:
        section.note(faults)
    _draw(section, inputs, table, dev)
    return table


def _beside_paper(table: pd.DataFrame) -> pd.DataFrame:
    told = {row["relation"]: row for row in reference()["dependency"]["rows"]}
    extra = reference()["notebook"]
    twins: dict[str, str] = reference()["dependency_twins"]
    out = table[["relation", "cases", "layer", "head", "direction", "accuracy", "low", "high",
                 "baseline", "offset"]].copy()  # fmt: skip
    out = out.astype({"cases": int, "layer": int, "head": int, "offset": int})
    columns: dict[str, list[object]] = {
        "paper: head": [],
        "paper: accuracy": [],
        "paper: baseline": [],
    }
    for relation in out["relation"]:
        row = told.get(twins.get(relation, ""))
        other = extra.get(twins.get(relation, ""), {})
        columns["paper: head"].append(f"{row['layer']}-{row['head']}" if row else "")
        columns["paper: accuracy"].append((row or other).get("accuracy", np.nan))
        columns["paper: baseline"].append((row or other).get("baseline", np.nan))
    return out.assign(**columns)


def _map(both: Any, table: pd.DataFrame) -> Any:
    heads: Any = both[both["part"] == "heads"]
    best = heads.groupby(["relation", "layer", "head"])["accuracy"].max().unstack("head")
    names = list(table["relation"])
    values = np.stack([best.loc[name].to_numpy() for name in names])
    marks = [(int(a), int(b)) for a, b in zip(table["layer"], table["head"], strict=True)]
    return rows_by_heads(values, names, marks, "accuracy", "Relations and heads")


def _draw(section: Section, inputs: ClarkInputs, table: pd.DataFrame, dev: Treebank) -> None:
    """Fig. 5: short sentences in which the relation occurs, for the clearest heads."""
    there = set(table["relation"])
    wanted = [name for name in DRAWN if name in there][:4]
    for name in wanted:
        row: Any = table.loc[table["relation"] == name].iloc[0]
        sentence = next((s for s in dev if name in s.relations and 6 <= len(s) <= 16), None)
        if sentence is None:
            continue
        layer, head = int(row["layer"]), int(row["head"])
        title = f"{name}, {row['direction']}"
        figure = sentence_lines(inputs.scope, sentence, layer, head, title=title)
        caption = f"Fig. 5: head {layer}-{head}, {row['accuracy']:.0%} right on `{name}`."
        section.figure(f"fig5_{name.replace(':', '_')}", figure, caption)
