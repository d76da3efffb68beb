"""Section 6, Fig. 6: heads arranged by how alike they attend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from headscope.statistics.distances.clusters import cluster
from headscope.studies.clark.drawing import heads_in_plane
from headscope.studies.clark.inputs import ClarkInputs, printed, reference
from headscope.studies.clark.surface import Maps
from headscope.studies.report import Section

if TYPE_CHECKING:
    from headscope.runs import Run

SEGMENTS = 200  # distances of all pairs of heads settle early


def clusters(
    section: Section,
    inputs: ClarkInputs,
    run: Run,
    kind: str,
    maps: Maps,
    named: dict[tuple[int, int], str],
) -> None:
    """Two panels: what the heads do, and which layer they are in."""

    def compute() -> pd.DataFrame:
        from headscope.statistics.survey.run import survey

        found = survey(
            inputs.scope,
            inputs.text(),
            ["self"],
            segments="pairs",
            max_tokens=128,
            limit=min(inputs.segments, SEGMENTS),
            distances=True,
            output=run.place("clusters.survey.parquet"),
            progress=run.show,
        )
        pairs = found.distances(kind)  # pyright: ignore[reportArgumentType]
        return pd.DataFrame(pairs.values, columns=[f"{a}-{b}" for a, b in pairs.heads])

    distances = run.table("distances", compute)
    heads = [(int(a), int(b)) for a, b in (name.split("-") for name in distances.columns)]
    found = cluster(heads, distances.to_numpy(), n=None, seed=0)
    groups = [_behaviour(maps, layer, head) for layer, head in heads]
    names = [named.get(pair, "") for pair in heads]
    figure = heads_in_plane(found.positions, groups, names, "by behaviour")
    caption = "Fig. 6, left: heads by what they do; named heads find a relation."
    section.figure("clusters_behaviour", figure, caption)
    layers = [f"layer {layer:2}" for layer, _ in heads]
    figure = heads_in_plane(found.positions, layers, [""] * len(heads), "by layer")
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


def _behaviour(maps: Maps, layer: int, head: int) -> str:
    for name, threshold in reference()["clusters"]["thresholds"].items():
        if name in maps and maps[name][layer, head] > threshold:
            return name
    return "other"
