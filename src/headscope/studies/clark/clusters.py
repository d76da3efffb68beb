"""Section 6, Fig. 6: heads arranged by similarity of attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from headscope.statistics.distances.clusters import Array, cluster
from headscope.studies.clark.drawing import heads_in_plane
from headscope.studies.clark.inputs import ClarkInputs, printed, reference
from headscope.studies.clark.surface import Maps, wanted
from headscope.studies.heads_atlas import show_heads, study_atlas
from headscope.studies.pieces import Section

if TYPE_CHECKING:
    from headscope.runs import Run

SEGMENTS = 200  # distances between heads converge early


def clusters(
    section: Section,
    inputs: ClarkInputs,
    run: Run,
    kind: str,
    maps: Maps,
    named: dict[tuple[int, int], str],
) -> None:
    """Two panels, heads by behaviour and by layer; then each head's texts."""
    atlas = study_atlas(
        run, inputs.scope, inputs.text(), wanted(inputs.scope), segments="pairs", max_tokens=128,
        limit=min(inputs.segments, SEGMENTS), distances=True,
    )  # fmt: skip
    heads, distances = _distances(atlas.frame("distances"), kind)
    found = cluster(heads, distances, n=None, seed=0)
    groups = [_behaviour(maps, layer, head) for layer, head in heads]
    names = [named.get(pair, "") for pair in heads]
    every = [f"{layer}-{head}" for layer, head in heads]
    figure = heads_in_plane(found.positions, groups, names, "by behaviour", every)
    caption = "Fig. 6, left: heads by what they do; named heads find a relation."
    section.figure("clusters_behaviour", figure, caption)
    layers = [f"layer {layer:2}" for layer, _ in heads]
    figure = heads_in_plane(found.positions, layers, [""] * len(heads), "by layer", every)
    section.figure("clusters_layer", figure, "Fig. 6, right: the same heads by layer.")
    told: dict[str, int] = reference()["clusters"]["counts"]
    rows = [
        {"behaviour": name, "heads": groups.count(name), "paper": told.get(name, np.nan)}
        for name in (*reference()["clusters"]["thresholds"], "other")
    ]
    counted = printed(pd.DataFrame(rows).astype({"paper": "Int64"}))
    section.table("clusters", counted, "Heads over the paper's thresholds.", published=["paper"])
    section.text(
        f"Mean distance within a layer {found.within:.3f}, between layers {found.between:.3f} "
        f"(p = {found.p_value:.4f} by shuffling layers); the plane leaves out {found.stress:.0%} "
        "of the squared distances."
    )
    show_heads(
        section,
        atlas,
        "The same heads with the examples in the corpus behind their numbers; any number may stand "
        "on the axes, and “layer by layer” parts them.",
        kind=kind,
        panels="clusters",
        **_axes(maps),
    )


def _axes(maps: Maps) -> dict[str, str]:
    """Fig. 4 and Fig. 2 in one plane, if the model has a separator."""
    there = "sep" in maps and not np.isnan(maps["sep"]).all()
    return {"x": "entropy", "y": "sep" if there else "self"}


def _distances(rows: pd.DataFrame, kind: str) -> tuple[list[tuple[int, int]], Array]:
    """The heads, and the distances between them."""
    mine: Any = rows[rows["kind"] == kind]
    pairs = zip(mine["layer"], mine["head"], strict=True)
    heads = sorted({(int(layer), int(head)) for layer, head in pairs})
    at = {pair: number for number, pair in enumerate(heads)}
    found = np.zeros((len(heads), len(heads)))
    for row in mine.itertuples():
        found[at[row.layer, row.head], at[row.other_layer, row.other_head]] = row.distance
    return heads, found


def _behaviour(maps: Maps, layer: int, head: int) -> str:
    for name, threshold in reference()["clusters"]["thresholds"].items():
        if name in maps and maps[name][layer, head] > threshold:
            return name
    return "other"
