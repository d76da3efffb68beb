"""Revealing the Dark Secrets of BERT (Kovaleva et al. 2019), run on any model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.studies.report import Report
from headscope.studies.run_study import study

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.runs import Run

METHOD = (
    "The experiments of Kovaleva et al. (2019) in the paper's order, on the model named above. "
    "Layers and heads are counted from 0; the paper counts from 1. GLUE development sets are read "
    "from the data folder's `glue`, fine-tuned models from its `finetuned`, FrameNet sentences "
    "from its `framenet`, parsed sentences from its `ud_english_ewt`. MRPC's first release has no "
    "development set, so its test set is used; SST-2 is the release of whole sentences."
)


@study
def kovaleva(
    run: Run,
    scope: Scope,
    data: str | Path | None,
    limit: int | None,
    command: str | None,
    finetuned: Mapping[str, Any] | None = None,
) -> Report:
    """The experiments of Kovaleva et al. (2019) in order.

    Those that cannot run are listed with what they lack.

    Parameters
    ----------
    scope
        The model, as `hs.load` opens it.
    data
        The folder with the study's data; by default the sample.
    limit
        How many examples of a task to read at most.
    output
        Write the page to this file. Finished steps are kept beside it, and a stopped run resumes.
    restart
        Start over instead of resuming.
    progress
        Show progress, or call a function with it.
    command
        The command that the page names as its source; by default that of the study.
    finetuned
        Scopes or folders of models fine-tuned from this one, by task; by default the data folder's
        `finetuned/RTE` and so on.

    Returns
    -------
    Report
        Sections with tables, figures and views; `report.tables` has the tables by name.

    Examples
    --------
    >>> import headscope as hs
    >>> tuned = {"RTE": "rte-model"}
    >>> report = hs.studies.kovaleva(hs.load(), "data", finetuned=tuned)  # doctest: +SKIP
    """
    from headscope.errors import BadInput
    from headscope.studies.kovaleva import disabling, features, frames, kinds, tuned
    from headscope.studies.kovaleva.inputs import PAPER_LIMIT, KovalevaInputs

    folder = None if data is None else Path(data)
    if folder is not None and not folder.is_dir():
        raise BadInput(f"There is no data folder {folder}; check the path.")
    inputs = KovalevaInputs(scope, folder, limit or PAPER_LIMIT, dict(finetuned or {}))
    report = Report(
        title=f"Dark secrets of {scope.name}",
        study="kovaleva",
        model=scope.name,
        command=command or f"headscope study kovaleva --model {scope.name} -o report.html",
        method=METHOD,
        settings={
            "examples per task, at most": inputs.limit,
            "tasks found": ", ".join(inputs.tasks) or "none",
            "fine-tuned models found": ", ".join(inputs.tuned) or "none",
        },
    )
    kinds.add(report, inputs, run)
    frames.add(report, inputs, run)
    tuned.add(report, inputs, run)
    features.add(report, inputs, run)
    disabling.add(report, inputs, run)
    report.summary = _summary(inputs)
    return report


def _summary(inputs: Any) -> str:
    from headscope.studies.kovaleva.inputs import TASKS

    absent = [task for task in TASKS if task not in inputs.tasks]
    untuned = [task for task in inputs.tasks if task not in inputs.tuned]
    parts = [f"Run on {', '.join(inputs.tasks) or 'sentences of our own'}."]
    if absent:
        parts.append(f"Without data here: {', '.join(absent)}.")
    if untuned:
        parts.append(f"Without a fine-tuned model here: {', '.join(untuned)}.")
    return " ".join(parts)
