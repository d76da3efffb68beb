"""Labels of heads, from a survey or from one reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.errors import BadInput
from headscope.media.positions import PositionKind
from headscope.patterns.evidence import COLUMNS, ERROR_RATE, HEAD, large
from headscope.patterns.evidence import table as evidence
from headscope.patterns.pattern import patterns
from headscope.patterns.support import Tested, enough, support
from headscope.statistics.of_reading import reading_values

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Part, Reading
    from headscope.surveys.table import Survey

ON_ONE_TEXT = [
    "queries",
    "all_queries",
    "supporting",
    "rest",
]  # columns of a single text's evidence
TIE = 0.1


def pattern_table(survey: Survey) -> pd.DataFrame:
    """Every head on every pattern that the survey measured, with or without a label.

    Parameters
    ----------
    survey
        A survey made with `statistics=hs.pattern_measures(scope)`.

    Returns
    -------
    pandas.DataFrame
        Score, uniform, lift, null, error, p, documents and labelled of each head and pattern.

    Examples
    --------
    >>> import headscope as hs
    >>> scope, texts = hs.load(), ["The cat sat on the mat because the cat was tired."] * 8
    >>> survey = hs.survey(scope, texts, hs.pattern_measures(scope), progress=False)
    >>> len(hs.pattern_table(survey)) > len(hs.labels(survey))
    True
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

    Examples
    --------
    >>> import headscope as hs
    >>> scope, texts = hs.load(), ["The cat sat on the mat because the cat was tired."] * 8
    >>> survey = hs.survey(scope, texts, hs.pattern_measures(scope), progress=False)
    >>> "label" in hs.labels(survey)
    True
    """
    return in_order(pattern_table(survey))


def quick_labels(reading: Reading) -> pd.DataFrame:
    """Labels on this text only: enough queries show the pattern, and chance would rarely.

    Parameters
    ----------
    reading
        What the model read.

    Returns
    -------
    pandas.DataFrame
        The columns of `labels`, with `documents` 1. `supporting` of `queries` queries show the
        pattern, `p` is the probability that chance does as well on this text. `all_queries` is
        False if the text is so long that only a stretch was tested. `rest` is NaN, or the pattern's
        score on the attention beside the head's sink.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.quick_labels(hs.load().read("The cat sat on the mat because the cat was tired."))
    >>> "label" in found
    True
    """
    return in_order(quick_table(reading))


def quick_table(reading: Reading) -> pd.DataFrame:
    """Every head on every pattern, on this text only, with or without a label."""
    import pandas as pd

    known = patterns()
    rows: list[pd.DataFrame] = []
    for kind, part in reading.parts.items():
        if why_not_scored(part):
            continue
        values, tested = reading_values(part), support(part, known.values())
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
                        "null": values[f"{name}:null"].ravel(), "error": np.nan, "documents": 1,
                        **_evidence(tested[name], len(tested)),
                    }
                )
            )  # fmt: skip
    if not rows:
        return pd.DataFrame(columns=[*COLUMNS, *ON_ONE_TEXT])
    frame: Any = pd.concat(rows, ignore_index=True)
    frame = frame[frame["score"].notna()].reset_index(drop=True)  # layers with fewer heads
    shown = frame.assign(score=frame["rest"].fillna(frame["score"]))
    shown["lift"] = shown["score"] / shown["uniform"]
    frame["labelled"] = frame.pop("tested").astype(bool) & large(shown, known)
    return frame


def _evidence(found: Tested, patterns: int) -> dict[str, Any]:
    """The columns of a test on one text; the error rate is per head, over all its patterns."""
    held = enough(found.supporting, found.queries) & (found.p <= ERROR_RATE / patterns)
    return {
        "p": found.p.ravel(), "queries": found.queries, "all_queries": found.all_queries,
        "supporting": found.supporting.ravel(),
        "rest": found.rest.ravel(), "tested": held.ravel(),
    }  # fmt: skip


def why_not_scored(part: Part) -> str | None:
    """Why this attention's patterns were not measured; None if they were."""
    if part.kind == "cross":
        return "Patterns are defined where a text attends to itself, not across two texts."
    positions = part.query.positions
    if positions is not None and not (positions.kinds == PositionKind.WORD).any():
        return "Patterns are those of texts; these positions are parts of a picture or a sound."
    if (part.query.ids == -1).any():
        return "Which of these tokens are the same is not known, so patterns were not measured."
    return None


def in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """The labelled rows by head, the most informative first.

    Resting on a sink is the least informative. Among labels with scores within `TIE` of the head's
    best, the one that more queries show comes first, because it is more general.
    """
    kept = frame[frame["labelled"].astype(bool)]
    known = patterns()
    kept = kept.assign(label=[known[name].label for name in kept["pattern"]])
    shown = kept["score"].astype(float)
    if "rest" in kept:
        shown = kept["rest"].astype(float).fillna(shown)
    rests = np.array([known[name].rests for name in kept["pattern"]], dtype=bool)
    best: Any = shown.where(~rests).groupby([kept[name] for name in HEAD]).transform("max")
    ties = (shown >= best - TIE) & ~rests
    support: Any = kept.get("supporting", 0)
    keys = {"rests": rests, "below": ~ties, "fewer": -support * ties, "lower": -shown}
    order = kept.assign(**keys).sort_values([*HEAD, *keys], kind="stable").index
    return kept.loc[order].drop(columns="labelled").reset_index(drop=True)


def with_corpus(here: pd.DataFrame, corpus: pd.DataFrame | None) -> pd.DataFrame:
    """One label per head to show, from one text's labels and a corpus's.

    It is this text's label, or the one of this text's labels that the corpus confirms. If the text
    shows nothing or only a sink, it is the corpus's label, with more than one in `documents`.
    """
    import pandas as pd

    known = patterns()
    shown: dict[tuple[Any, ...], Any] = {}
    sure: dict[tuple[Any, ...], set[str]] = {}
    of_corpus = [] if corpus is None else corpus.to_dict("records")
    for row in of_corpus:
        sure.setdefault(tuple(row[name] for name in HEAD), set()).add(row["pattern"])
    for row in here.to_dict("records"):
        at = tuple(row[name] for name in HEAD)
        first = shown.setdefault(at, row)
        confirmed = sure.get(at, set())
        if first["pattern"] not in confirmed and row["pattern"] in confirmed:
            shown[at] = row
    for row in of_corpus:
        at = tuple(row[name] for name in HEAD)
        if at not in shown or (known[shown[at]["pattern"]].rests and shown[at]["documents"] == 1):
            shown[at] = row
    return pd.DataFrame([shown[at] for at in sorted(shown)], columns=[*here.columns])
