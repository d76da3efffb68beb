"""Section 4.3: the gain from fine-tuning (Table 1) and the maps it changes (Fig. 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headscope.studies.kovaleva.inputs import KovalevaInputs, how_to_supply

if TYPE_CHECKING:
    import pandas as pd

    from headscope.runs import Run
    from headscope.studies.report import Report


def add(report: Report, inputs: KovalevaInputs, run: Run) -> None:
    section = report.section(
        "What fine-tuning changes",
        "Per head, the cosine between the maps of the pre-trained and the fine-tuned model laid "
        "out flat, the mean over examples. Maps are cut to the real tokens; the paper's code "
        "keeps the padding (`padded`), whose rows are meaningless and alike.",
    )
    if not inputs.tuned:
        section.note(f"Left out: no fine-tuned model was found. {how_to_supply('RTE')}")
        return
    _worth(section, inputs, run)
    import numpy as np

    from headscope.figures import layer_head_map

    rows: list[Any] = []
    for task in inputs.tuned:
        found: Any = run.table(f"change_{task}", lambda task=task: _change(inputs, task, run))
        layers = found.groupby("layer")[["cosine", "padded", "divergence"]].mean().reset_index()
        layers.insert(0, "task", task)
        rows.append(layers)
        values = np.asarray(found["cosine"], float).reshape(int(found["layer"].max()) + 1, -1)
        section.figure(
            f"change_{task}",
            layer_head_map(values, f"{task}: before and after", "cosine", limits=(0.0, 1.0)),
            f"{task}: how alike each head's maps are before and after fine-tuning.",
        )
    import pandas as pd

    section.table(
        "change", pd.concat(rows, ignore_index=True),
        "The mean of every layer. The paper's claim: the last two layers change most (QQP apart).",
    )  # fmt: skip


def _worth(section: Any, inputs: KovalevaInputs, run: Run) -> None:
    table: Any = run.table("worth", lambda: _scores(inputs, run))
    paper = inputs.paper["table1"]

    def quoted(task: str, column: str) -> str | None:
        found = paper.get(task, {}).get(column)
        return None if found is None else " / ".join(str(value) for value in found)

    for column in ("finetuned", "from_scratch"):
        table[f"{column} (paper)"] = [quoted(task, column) for task in table["task"]]
    section.table(
        "worth", table,
        "Scores on the development set in percent; two baselines that need no model; the paper's "
        "Table 1 (MRPC and QQP as F1 / accuracy).",
        published=["finetuned (paper)", "from_scratch (paper)"], digits=1,
    )  # fmt: skip


def _scores(inputs: KovalevaInputs, run: Run) -> pd.DataFrame:
    import pandas as pd

    from headscope.edits.answers import score
    from headscope.errors import BadInput
    from headscope.tasks.baselines import baselines
    from headscope.tasks.glue import read_glue
    from headscope.tasks.questions import make_questions

    rows: list[dict[str, Any]] = []
    for task, scope in inputs.tuned.items():
        dev = inputs.tasks[task]
        row: dict[str, Any] = {"task": task, "metric": dev.metric, "examples": len(dev)}
        folder = inputs.folder("glue", task)
        assert folder is not None
        try:
            below = baselines(read_glue(folder, "train"), dev)
            row |= {"majority": 100 * below.majority, "bag of words": 100 * below.bag_of_words}
        except BadInput:
            row |= {"majority": None, "bag of words": None}  # no training set here
        row["finetuned"] = 100 * score(scope, make_questions(scope, dev), run)
        rows.append(row)
    return pd.DataFrame(rows)


def _change(inputs: KovalevaInputs, task: str, run: Run) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    from headscope.finetuning.change import change
    from headscope.finetuning.texts import batches_of, text_pairs

    before, after = inputs.scope, inputs.tuned[task]
    given = batches_of(before, text_pairs(inputs.tasks[task], inputs.limit))
    found = change(before, after, run.track(given, f"change: {task}", len(given)))
    layer, head = np.indices(found.cosine.shape)
    return pd.DataFrame(
        {
            "layer": layer.ravel(),
            "head": head.ravel(),
            "cosine": found.cosine.ravel(),
            "padded": found.cosine_padded.ravel(),
            "divergence": found.divergence.ravel(),
        }
    )
