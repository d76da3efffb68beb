"""Labels: what a head may be called after a survey, or on one reading alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from headscope.errors import BadInput
from headscope.patterns.evidence import COLUMNS, HEAD, large
from headscope.patterns.evidence import table as evidence
from headscope.patterns.map_scores import score_maps
from headscope.patterns.scores import patterns
from headscope.patterns.token_pairs import grid_of

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Reading
    from headscope.statistics import Survey


def table(survey: Survey) -> pd.DataFrame:
    """Every head on every pattern the survey measured, labelled or not."""
    frame = evidence(survey.table, patterns())
    if frame.empty:
        raise BadInput(
            "This survey measured no patterns; make it with "
            "statistics=headscope.patterns.measures(scope)."
        )
    return frame


def labels(survey: Survey) -> pd.DataFrame:
    """The labels that hold, each head's strongest first; heads without one are not listed."""
    return in_order(table(survey))


def quick_labels(reading: Reading) -> pd.DataFrame:
    """What the heads do on this text only: size is asked for, chance is not tested.

    The frame is that of `labels`; `p` is missing and `documents` is 1, which is how a reader
    of the frame knows that it speaks of one text.
    """
    return in_order(quick_table(reading))


def quick_table(reading: Reading) -> pd.DataFrame:
    """Every head on every pattern, on this text only, labelled or not."""
    import pandas as pd

    rows: list[pd.DataFrame] = []
    for kind, part in reading.parts.items():
        if kind == "cross":
            continue
        layers = [part.weights(one.layer) for one in part.layers]
        places = np.array(
            [(one.layer, head) for one, maps in zip(part.layers, layers, strict=True)
             for head in range(len(maps))]
        )  # fmt: skip
        maps = torch.from_numpy(np.concatenate(layers).astype(np.float32))[None]  # 1 l·h t s
        grid = grid_of([part.query], kind=kind, causal=part.causal)
        for name, pattern in patterns().items():
            if pattern.needs_likeness or not (found := score_maps(pattern, maps, grid)):
                continue
            score, even, null, _ = (values[0].numpy() for values in found)
            if np.isnan(score).all():
                continue
            rows.append(
                pd.DataFrame(
                    {
                        "kind": kind, "layer": places[:, 0], "head": places[:, 1],
                        "pattern": name, "score": score, "uniform": even, "lift": score / even,
                        "null": null, "error": np.nan, "p": np.nan, "documents": 1,
                    }
                )
            )  # fmt: skip
    if not rows:
        return pd.DataFrame(columns=COLUMNS)
    frame = pd.concat(rows, ignore_index=True)
    frame["labelled"] = large(frame, patterns())
    return frame


def in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """The labelled rows, by head, each head's highest score first."""
    kept = frame[frame["labelled"].astype(bool)]
    known = patterns()
    kept = kept.assign(label=[known[name].label for name in kept["pattern"]])
    order = [*HEAD, "score"]
    kept = kept.sort_values(order, ascending=[True, True, True, False], kind="stable")
    return kept.drop(columns="labelled").reset_index(drop=True)
