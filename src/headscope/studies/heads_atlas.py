"""A study's atlas: heads as points, and the texts behind their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from headscope.atlas.atlas import Atlas

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.runs import Run
    from headscope.studies.pieces import Section

PER_HEAD = 60  # examples of each head on the page: a report carries more than this view
SHOWN = 5  # examples in a table


def study_atlas(
    run: Run, scope: Scope, corpus: Any, statistics: Any = None, **options: Any
) -> Atlas:
    """The atlas of a study's corpus; opened if this run finished it before."""
    from headscope.atlas.make import atlas

    path = run.place("heads.atlas")
    if path is not None and path.exists() and (kept := Atlas.load(path)).complete:
        return kept
    return atlas(scope, corpus, statistics, output=path, progress=run.show, **options)


def show_heads(section: Section, atlas: Atlas, caption: str, **options: Any) -> None:
    """Every head as a point, with its examples: the page of the atlas."""
    from headscope.surfaces import atlas_view

    view = atlas_view(atlas, per_head=PER_HEAD, **options)
    section.view("atlas", view, caption, height=860)


def show_examples(section: Section, atlas: Atlas, name: str, at: tuple[int, int]) -> None:
    """A head's strongest examples of a pattern, if the atlas has some."""
    if name not in set(atlas.frame("examples")["measure"]):
        return
    found: Any = atlas.examples(*at, SHOWN, measure=name)
    if found.empty:
        return
    shown = pd.DataFrame({"value": found["value"], "example": found["text"]})
    section.table(
        f"{name}_examples",
        shown,
        f"Where head {at[0]}-{at[1]} does so most in the corpus: the query in [[ ]], the key it "
        "attends to most in << >>.",
    )
