"""`hs.atlas`: one streaming pass that gives every head's measures, examples and profiles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.arguments import need_scope
from headscope.atlas.atlas import Atlas
from headscope.atlas.tables import atlas_of
from headscope.errors import BadInput
from headscope.patterns.as_statistics import pattern_measures
from headscope.runs.weights_ahead import weights_of
from headscope.statistics.discovery import Wanted, discover
from headscope.statistics.places.settings import PlaceSettings
from headscope.surveys.options import Options
from headscope.surveys.run import over_corpus
from headscope.statistics.selection import measurable

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.runs import ProgressCallback
    from headscope.statistics.statistic import Statistic
    from headscope.statistics.survey.tally import Tally


def atlas(
    scope: Scope,
    corpus: Any,
    statistics: str | Sequence[Wanted] | None = None,
    *,
    top: int = 20,
    per_decile: int = 2,
    per_document: int = 2,
    keys: int = 8,
    text: bool = True,
    distances: bool | float = 0.125,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
    **options: Any,
) -> Atlas:
    """Measure every head of a scope over a corpus, and keep the places behind the numbers.

    `statistics` are those of `hs.survey`, the standard ones when left out; patterns are always
    measured. Of every head and measure the `top` strongest places are kept, at most
    `per_document` of one document (each window of a longer text is one), and `per_decile` of every
    decile of the measure over the corpus, each with its `keys` heaviest keys. Heads are compared
    with each other over a share of all queries, `distances` (True: all; False: not at all). An
    atlas holds excerpts of the corpus; `text=False` keeps none. The other options are those of
    `hs.survey`. With an `output` the run can be stopped and goes on.
    """
    need_scope(scope)
    _check(top=top, per_decile=per_decile, per_document=per_document, keys=keys)
    if not 0 <= distances <= 1:
        raise BadInput(f"distances is a share of all queries, 0 to 1, not {distances}.")
    chosen = Options.named({**options, "distances": distances > 0})
    patterns = pattern_measures(scope)
    measured, missing = measurable(scope, statistics)
    wanted = _together(measured, [*patterns, discover()["focus"]])
    judged = [s for s in patterns if s.name == s.pattern.name and s.source == "corpus"]  # pyright: ignore
    places = PlaceSettings(
        (*judged, discover()["confidence"], discover()["focus"]),
        top=top,
        per_decile=per_decile,
        per_document=per_document,
        keys=keys,
        compared=float(distances),
        seed=chosen.seed,
        text=text,
    )

    weights = weights_of(scope)

    def made(tally: Tally, about: dict[str, Any]) -> Atlas:
        told = {**about, "not measured": missing}
        return atlas_of(scope, tally, told, places, weights=weights, text=text, corpus=corpus)

    return over_corpus(
        scope, corpus, wanted, made, chosen, places=places,
        limit=limit, output=output, restart=restart, progress=progress, title="Making the atlas",
    )  # fmt: skip


def _together(chosen: Sequence[Statistic], patterns: Sequence[Statistic]) -> list[Statistic]:
    """Each once; a pattern asked for by name is the one made for this model."""
    names = {pattern.name for pattern in patterns}
    return [*(s for s in chosen if s.name not in names), *patterns]


def _check(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise BadInput(f"{name} is at least 1, not {count}.")
