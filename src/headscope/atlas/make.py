"""`hs.atlas`: one streaming pass that gives every head's measures, examples and profiles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headscope.arguments import need_scope
from headscope.atlas.atlas import Atlas
from headscope.atlas.collecting.reducer import AtlasReducer
from headscope.atlas.collecting.settings import ExampleSettings
from headscope.atlas.tables import atlas_of
from headscope.corpus.bad_data import Choice
from headscope.corpus.text.documents import Layout
from headscope.corpus.text.segments import Segmentation
from headscope.errors import BadInput
from headscope.models.limits import embedded_tokens
from headscope.patterns.as_statistics import pattern_measures, with_patterns
from headscope.runs.weights_ahead import weights_of
from headscope.statistics.discovery import Wanted, discover, measurable
from headscope.surveys.options import Options
from headscope.surveys.reducer import Reducer
from headscope.surveys.run import need_text, over_corpus, survey_reducers
from headscope.surveys.table import survey_of

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.runs import ProgressCallback


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
    segments: Segmentation = "windows",
    stride: int | None = None,
    max_tokens: int | None = None,
    token_types: Literal["proper", "zeros"] = "proper",
    seed: int = 0,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    workers: int | None = None,
    field: str = "text",
    layout: Layout = "auto",
    bad_data: Choice = "skip",
    batch_tokens: int | None = None,
    chunk: int | None = None,
) -> Atlas:
    """Measure every head over a corpus, and keep the examples behind the numbers.

    An atlas holds excerpts of the corpus, unless `text=False`.

    Parameters
    ----------
    scope
        The model, as `hs.load` opens it.
    corpus
        What `hs.survey` takes.
    statistics
        Names of statistics, or "all"; the standard ones if left out. Patterns are always measured.
    top
        How many of the strongest examples of a head and measure are kept, 20 by default.
    per_decile
        How many examples of each decile of the measure are kept, 2 by default.
    per_document
        The most examples from one document (or window of a longer text), 2 by default.
    keys
        How many of the heaviest keys an example keeps, 8 by default.
    text
        Whether excerpts of the corpus are kept; True by default.
    distances
        The share of queries over which heads are compared, 0.125 by default; False: none.
    limit
        Only the first texts.
    output
        The file or folder to write; a stopped run resumes from what lies beside it.
    restart
        Whether to start over instead of resuming.
    progress
        Whether to show progress, or a function that is called with it.
    segments, stride, max_tokens, token_types
        How texts are cut, as for `hs.survey`.
    seed
        Of everything drawn at random, 0 by default.
    engine, address, workers, batch_tokens, chunk
        Where and in which portions the model runs, as for `hs.survey`.
    field, layout, bad_data
        How the corpus is read, as for `hs.survey`.

    Returns
    -------
    Atlas
        Every head's measures, examples and profile.

    Examples
    --------
    >>> import headscope as hs
    >>> texts = ["The cat sat on the mat because the cat was tired.", "She sells sea shells."]
    >>> found = hs.atlas(hs.load(), texts, progress=False)
    >>> found.kinds
    ('encoder',)
    """
    need_scope(scope)
    _check(top=top, per_decile=per_decile, per_document=per_document, keys=keys)
    if not 0 <= distances <= 1:
        raise BadInput(f"distances is a share of all queries, 0 to 1, not {distances}.")
    need_text(scope, limit)
    chosen = Options(
        segments=segments, stride=stride, max_tokens=max_tokens, distances=distances > 0,
        token_types=token_types, seed=seed, engine=engine, address=address, workers=workers,
        field=field, layout=layout, bad_data=bad_data, batch_tokens=batch_tokens, chunk=chunk,
    )  # fmt: skip
    patterns = pattern_measures(scope)
    measured, missing = measurable(scope, statistics)
    wanted = with_patterns(measured, [*patterns, discover()["focus"]])
    judged = [s for s in patterns if s.name == s.pattern.name and s.source == "corpus"]  # pyright: ignore
    settings = ExampleSettings(
        (*judged, discover()["confidence"], discover()["focus"]),
        top=top,
        per_decile=per_decile,
        per_document=per_document,
        keys=keys,
        compared=float(distances),
        seed=chosen.seed,
        text=text,
    )
    collecting = AtlasReducer(settings, embedded_tokens(scope.model) or 0)
    weights = weights_of(scope)

    def made(reducers: Sequence[Reducer], about: dict[str, Any]) -> Atlas:
        survey = survey_of(reducers, {**about, "not measured": missing})
        return atlas_of(
            scope, survey, collecting.finish(), settings, weights=weights, corpus=corpus
        )

    return over_corpus(
        scope, corpus, [*survey_reducers(wanted, chosen, float(distances)), collecting], made,
        chosen, limit=limit, output=output, restart=restart, progress=progress,
        title="Making the atlas",
    )  # fmt: skip


def _check(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise BadInput(f"{name} is at least 1, not {count}.")
