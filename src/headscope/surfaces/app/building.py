"""Build an atlas in the app: of a text that the user gives, or of the novels in the package."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from headscope.corpus.sample import NOVELS
from headscope.reading import Scope
from headscope.reading.collecting.collector import check_stop

if TYPE_CHECKING:
    from headscope.atlas.atlas import Atlas
    from headscope.runs import ProgressCallback

TRIED = (4, 12)  # texts of the two trials behind an estimate


def texts_of(given: str) -> list[str]:
    """A text in each line that is not empty; without any, the novels'."""
    texts = [line for line in given.splitlines() if line.strip()]
    return texts or NOVELS.read_text("utf-8").splitlines()


def estimate(scope: Scope, given: str) -> dict[str, Any]:
    """How many texts there are, and the seconds an atlas of them takes.

    Two small atlases tell what it costs to begin and what each character adds.
    """
    texts = texts_of(given)
    trials = [_spread(texts, count) for count in TRIED]
    seconds = [_timed(scope, trial) for trial in trials]
    few, more, whole = (sum(map(len, each)) for each in (*trials, texts))
    each = max(0.0, seconds[1] - seconds[0]) / max(1, more - few)
    return {"texts": len(texts), "seconds": seconds[1] + each * (whole - more)}


def build(scope: Scope, given: str) -> Atlas:
    """The atlas that `headscope atlas` makes of a text file with these lines."""
    texts = texts_of(given)
    return _made(scope, texts, lambda now: check_stop("atlas", now.done / len(texts)))


def _made(scope: Scope, texts: Sequence[str], progress: ProgressCallback) -> Atlas:
    from headscope.atlas.make import atlas

    return atlas(scope, texts, segments="documents", progress=progress)


def _timed(scope: Scope, texts: Sequence[str]) -> float:
    begun = monotonic()
    _made(scope, texts, lambda now: check_stop("trial", 0.0))
    return monotonic() - begun


def _spread(texts: Sequence[str], count: int) -> list[str]:
    return [texts[at * len(texts) // count] for at in range(min(count, len(texts)))]
