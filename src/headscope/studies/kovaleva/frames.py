"""Section 4.2: heads that link the words of a frame to the word that evokes it (Fig. 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headscope.studies.kovaleva.inputs import KovalevaInputs

if TYPE_CHECKING:
    from headscope.runs import Run
    from headscope.studies.report import Report

FILE = "framenet15_filtered.jsonl"


def add(report: Report, inputs: KovalevaInputs, run: Run) -> None:
    import numpy as np

    from headscope.figures import layer_head_map

    section = report.section("Heads that follow frames")
    path = inputs.folder("framenet", FILE) or inputs.folder("framenet")
    if path is None:
        section.note(
            f"Left out: there is no framenet/{FILE} (or FrameNet folder) in the data folder. One "
            "line a sentence: text, target span and spans of the frame elements as character "
            "offsets."
        )
        return
    section.text(
        "A head's score is the mean over sentences of its largest weight between a piece of a "
        "core frame element and a piece of the target word. `null` is the same with both spans "
        "moved about the sentence. The paper's code reads only from element to target and pairs "
        "the pieces off (`literal`); its text speaks of the other direction. All are shown."
    )
    table: Any = run.table("frames", lambda: _probe(inputs, path, run))
    paper = inputs.paper["framenet"]
    best = table.sort_values("score", ascending=False).groupby("variant", sort=False).head(5)
    best = best.sort_values(["variant", "score"], ascending=[True, False]).copy()
    section.table(
        "frames", best, "The five best heads of each variant: score, percentile among all heads, "
        "what chance gives, and the p-value of a displaced-span test.",
    )  # fmt: skip
    first: Any = table[table["variant"] == table["variant"].iloc[0]]
    values = np.asarray(first["score"], float).reshape(int(first["layer"].max()) + 1, -1)
    marked = [(int(row["layer"]), int(row["head"])) for row in best.head(2).to_dict("records")]
    drawn = layer_head_map(values, "frame element to target", "mean largest weight", mark=marked)
    section.figure("frames", drawn, "The score of every head; the two best are outlined.")
    heads = " and ".join(f"{layer}-{head}" for layer, head in paper["heads"])
    section.text(
        f"The paper finds two heads of bert-base-uncased, {heads} (0-indexed), with "
        f"{paper['scores'][0]} and {paper['scores'][1]} on {paper['sentences']} sentences of "
        "FrameNet 1.7. Head numbers mean nothing in another model; what can be compared is "
        "whether a few heads stand out, and by how much."
    )


def _probe(inputs: KovalevaInputs, path: Any, run: Run) -> Any:
    from headscope.corpus.relations.corpus import Relations
    from headscope.probes.relations.heads import relations

    examples = Relations(path, limit=inputs.limit)
    return relations(
        inputs.scope, examples, output=run.place("frames.probe.parquet"), progress=run.show
    ).heads
