"""Stability: whether another survey of the same model repeats the labels."""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING, Any, NamedTuple

from headscope.patterns.labels import labels

if TYPE_CHECKING:
    from headscope.surveys.table import Survey


class LabelStability(NamedTuple):
    """How many of the first survey's labels the second repeats."""

    heads: int  # labelled in the first survey
    kept: float  # share of those heads whose strongest label is their strongest again
    labels: int  # (head, pattern) pairs labelled in the first survey
    labels_kept: float  # share of them labelled again


def label_stability(first: Survey, second: Survey) -> LabelStability:
    """Compare the labels of two surveys of one model, such as two halves of a corpus.

    Parameters
    ----------
    first, second
        Surveys made with `statistics=hs.pattern_measures(scope)`.

    Returns
    -------
    LabelStability
        How many heads and labels the first survey has, and the share that the second repeats.

    Examples
    --------
    >>> import headscope as hs
    >>> scope, texts = hs.load(), ["The cat sat on the mat because the cat was tired."] * 8
    >>> survey = hs.survey(scope, texts, hs.pattern_measures(scope), progress=False)
    >>> hs.label_stability(survey, survey).labels == len(hs.labels(survey))
    True
    """
    one, other = labels(first), labels(second)
    strongest, again = _strongest(one), _strongest(other)
    pairs, pairs_again = _pairs(one), _pairs(other)
    return LabelStability(
        heads=len(strongest),
        kept=_share(sum(again.get(head) == name for head, name in strongest.items()), strongest),
        labels=len(pairs),
        labels_kept=_share(len(pairs & pairs_again), pairs),
    )


def _strongest(frame: Any) -> dict[tuple[str, int, int], str]:
    found: dict[tuple[str, int, int], str] = {}
    for row in frame.itertuples():
        found.setdefault((row.kind, row.layer, row.head), row.pattern)
    return found


def _pairs(frame: Any) -> set[tuple[str, int, int, str]]:
    return {(row.kind, row.layer, row.head, row.pattern) for row in frame.itertuples()}


def _share(kept: int, every: Sized) -> float:
    return kept / len(every) if len(every) else float("nan")
