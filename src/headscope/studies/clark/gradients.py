"""Section 3.2, Fig. 3: the gradient of the loss with respect to attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from headscope.errors import BadInput
from headscope.measures import every
from headscope.studies.clark.drawing import lines_by_layer
from headscope.studies.clark.inputs import ClarkInputs, at_same_depth, reference
from headscope.studies.clark.surface import Maps
from headscope.studies.pieces import Section

if TYPE_CHECKING:
    from headscope.runs import Run

NAMES = {
    "gradient_sep": "grad_sep",
    "gradient_punctuation": "grad_punct",
    "gradient_all": "grad_all",
}
SEGMENTS = 200  # one backward pass each; curves converge long before the paper's thousand


def gradients(section: Section, inputs: ClarkInputs, run: Run, kind: str) -> None:
    """Curves over layers, each divided by its mean, because the paper states no unit."""

    def compute() -> pd.DataFrame:
        from headscope.surveys.run import survey

        found = survey(
            inputs.scope,
            inputs.text(),
            list(NAMES),
            segments="pairs",
            max_tokens=128,
            limit=min(inputs.segments, SEGMENTS),
            output=run.place("gradients.survey.parquet"),
            progress=run.show,
        )
        return found.table

    try:
        maps = Maps(run.table("gradients", compute), kind)
    except BadInput as error:
        section.note(f"Not measured: {error}")
        return
    published = reference()["per_layer"]
    frame = pd.DataFrame()
    curves: dict[str, np.ndarray] = {}
    theirs: dict[str, np.ndarray] = {}
    scale = float(np.nanmean(maps["gradient_all"])) if "gradient_all" in maps else 1.0
    paper_scale = float(np.mean(published["grad_all"]))
    for name, told in NAMES.items():
        if name not in maps or np.isnan(maps[name]).all():
            continue
        ours = np.nanmean(maps[name], axis=1) / scale
        frame["layer"] = np.arange(len(ours))
        title = every()[name].title
        frame[title] = curves[title] = ours
        paper_line = at_same_depth(published[told], len(ours)) / paper_scale
        frame[f"{title}, paper"] = theirs[title] = paper_line
    figure = lines_by_layer(curves, "|∂loss/∂attention|, mean of all = 1", theirs)
    caption = "Fig. 3: sensitivity of the loss to attention, by layer; dashed: the paper’s."
    section.figure("gradients", figure, caption)
    paper = [column for column in frame.columns if column.endswith(", paper")]
    caption = "Each side divided by its own mean over all tokens: only shapes can be compared."
    section.table("gradients", frame, caption, published=paper)
