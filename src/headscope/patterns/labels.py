"""Labels: what a head may be called after a survey, or on one reading alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.errors import BadInput
from headscope.media import PositionKind
from headscope.patterns.evidence import COLUMNS, HEAD, large
from headscope.patterns.evidence import table as evidence
from headscope.patterns.known import patterns
from headscope.statistics.of_reading import reading_values

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Part, Reading
    from headscope.surveys.table import Survey


def pattern_table(survey: Survey) -> pd.DataFrame:
    """Every head on every pattern the survey measured, labelled or not.

    Parameters
    ----------
    survey
        A survey made with `statistics=hs.pattern_measures(scope)`.

    Returns
    -------
    pandas.DataFrame
        Score, uniform, lift, null, error, p, documents and labelled of each head and pattern.
    """
    frame = evidence(survey.table, patterns())
    if frame.empty:
        raise BadInput(
            "This survey measured no patterns; make it with statistics=hs.pattern_measures(scope)."
        )
    return frame


def labels(survey: Survey) -> pd.DataFrame:
    """The labels that hold, each head's strongest first; heads without one are not listed.

    Parameters
    ----------
    survey
        A survey made with `statistics=hs.pattern_measures(scope)`.

    Returns
    -------
    pandas.DataFrame
        A row for each head and label, with the label's evidence.
    """
    return in_order(pattern_table(survey))


def quick_labels(reading: Reading) -> pd.DataFrame:
    """What the heads do on this text only: size is asked for, chance is not tested.

    Parameters
    ----------
    reading
        What the model read.

    Returns
    -------
    pandas.DataFrame
        The columns of `labels`. `p` is NaN and `documents` is 1: one text is no test of chance.
    """
    return in_order(quick_table(reading))


def quick_table(reading: Reading) -> pd.DataFrame:
    """Every head on every pattern, on this text only, labelled or not."""
    import pandas as pd

    known = patterns()
    rows: list[pd.DataFrame] = []
    for kind, part in reading.parts.items():
        if why_not_scored(part):
            continue
        values = reading_values(part)
        layers, heads = np.meshgrid(part.numbers, np.arange(part.heads), indexing="ij")
        for name in known:
            if name not in values or f"{name}:uniform" not in values:
                continue
            score, even = values[name].ravel(), values[f"{name}:uniform"].ravel()
            rows.append(
                pd.DataFrame(
                    {
                        "kind": kind, "layer": layers.ravel(), "head": heads.ravel(),
                        "pattern": name, "score": score, "uniform": even, "lift": score / even,
                        "null": values[f"{name}:null"].ravel(), "error": np.nan, "p": np.nan,
                        "documents": 1,
                    }
                )
            )  # fmt: skip
    if not rows:
        return pd.DataFrame(columns=COLUMNS)
    frame: Any = pd.concat(rows, ignore_index=True)
    frame = frame[frame["score"].notna()].reset_index(drop=True)  # layers with fewer heads
    frame["labelled"] = large(frame, known)
    return frame


def why_not_scored(part: Part) -> str | None:
    """Why the patterns of this attention were not measured, in a sentence; None if they were."""
    if part.kind == "cross":
        return "Patterns are defined where a text attends to itself, not across two texts."
    positions = part.query.positions
    if positions is not None and not (positions.kinds == PositionKind.WORD).any():
        return "Patterns are those of texts; these positions are parts of a picture or a sound."
    if (part.query.ids == -1).any():
        return "Which of these tokens are the same is not known, so patterns were not measured."
    return None


def in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """The labelled rows, by head, each head's highest score first."""
    kept = frame[frame["labelled"].astype(bool)]
    known = patterns()
    kept = kept.assign(label=[known[name].label for name in kept["pattern"]])
    order = [*HEAD, "score"]
    kept = kept.sort_values(order, ascending=[True, True, True, False], kind="stable")
    return kept.drop(columns="labelled").reset_index(drop=True)
