"""Section 5, Table 3: probes over all heads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from headscope.corpus.sample import STORIES
from headscope.corpus.treebanks.treebank import Treebank
from headscope.probes.all_heads.run import all_heads
from headscope.studies.clark.inputs import ClarkInputs, printed, reference
from headscope.studies.pieces import Section

if TYPE_CHECKING:
    from headscope.runs import Run


def probes(section: Section, inputs: ClarkInputs, run: Run) -> None:
    """UAS of each probe beside the paper's, and the heads with the largest weights."""
    kept: dict[str, Any] = {}

    def compute() -> pd.DataFrame:
        train, dev, test = _parts(inputs)
        found = all_heads(
            inputs.scope, train, dev, test, output=run.place("all_heads.parquet"),
            progress=run.show,
        )  # fmt: skip
        table = found.summary.assign(part="table", vectors=found.vectors)
        return pd.concat([table, found.heads.assign(part="heads")])

    both = run.table("probes", compute)
    table = both.loc[both["part"] == "table", ["probe", "uas", "low", "high", "words", "epochs"]]
    kept["vectors"] = both["vectors"].dropna().iloc[0]
    told: dict[str, float] = reference()["probes"]["uas"]
    whole = table.astype({"words": int, "epochs": "Int64"})
    shown = printed(whole.assign(paper=whole["probe"].map(told)))
    section.table("probes", shown, "Table 3: unlabelled attachment score, punctuation aside.",
                  published=["paper"])  # fmt: skip
    heads = both.loc[
        both["part"] == "heads", ["probe", "layer", "head", "direction", "gain"]
    ].astype({"layer": int, "head": int})
    strongest = heads.sort_values("gain", ascending=False).groupby("probe").head(5)
    caption = "The heads that lift the right head of a word most over the others."
    section.table("probes_heads", strongest, caption)
    section.text(
        f"Word vectors: {kept['vectors']}; the paper used GloVe with 100 numbers a word. `random "
        "weights` is the same model with all but its embeddings random: what a probe still finds "
        "there is owed to words and positions."
    )


def _parts(inputs: ClarkInputs) -> tuple[Any, Any, Any]:
    train, dev, test = (inputs.treebank(part) for part in ("train", "dev", "test"))
    if train is not None and dev is not None:
        last = test or dev
        limit = inputs.limit
        return tuple(Treebank(path, limit=limit) for path in (train, dev, last))  # pyright: ignore[reportReturnType]
    sentences = list(Treebank(dev or STORIES, limit=inputs.limit))
    third = max(1, len(sentences) // 4)
    return sentences[2 * third :], sentences[:third], sentences[third : 2 * third]
