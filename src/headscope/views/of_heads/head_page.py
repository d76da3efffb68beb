"""What a head's page says beside its examples: evidence in words, profiles, neighbours."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from headscope.atlas.atlas import Atlas

SHOWN = 10  # tokens of a profile
NEAREST = 5
LEAST = 5  # times something was counted, before its lift says anything
CHANCE = 1e-3


def head_pages(
    atlas: Atlas, kind: str, layers: tuple[int, ...], heads: int
) -> list[dict[str, Any]]:
    """One entry a head, layer by layer."""
    by_head = {name: _by_head(atlas, name, kind) for name in ("labels", "profiles", "deciles")}
    distances = _by_head(atlas, "distances", kind)
    pages: list[dict[str, Any]] = []
    for layer in layers:
        for head in range(heads):
            at = (layer, head)
            pages.append(
                {
                    "evidence": _evidence(by_head["labels"].get(at)),
                    "shown": _shown(by_head["labels"].get(at)),
                    "profiles": _profiles(by_head["profiles"].get(at)),
                    "deciles": _deciles(by_head["deciles"].get(at)),
                    "near": _near(distances.get(at)),
                }
            )
    return pages


def _by_head(atlas: Atlas, name: str, kind: str) -> dict[tuple[int, int], pd.DataFrame]:
    if not atlas.has(name):
        return {}
    rows: Any = atlas.frame(name)
    groups = rows[rows["kind"] == kind].groupby(["layer", "head"], sort=False)
    return {(int(layer), int(head)): group for (layer, head), group in groups}


def _shown(labels: pd.DataFrame | None) -> str:
    """The measure whose examples come first, as `Atlas.shown_measure` says."""
    found: Any = labels
    if labels is None or not found["labelled"].any():
        return "confidence"
    rows: Any = found[found["labelled"]].sort_values("score", ascending=False, kind="stable")
    return str(rows.iloc[0]["pattern"])


def _evidence(labels: pd.DataFrame | None) -> list[dict[str, Any]]:
    """Labels that hold, strongest first; where none does, the nearest miss."""
    if labels is None:
        return []
    rows: Any = labels.sort_values("score", ascending=False, kind="stable")
    held = rows[rows["labelled"]]
    told = held if len(held) else rows.nlargest(1, "lift")
    return [
        {
            "label": str(row.label),
            "pattern": str(row.pattern),
            "score": round(float(row.score), 4),
            "holds": bool(row.labelled),
            "sentence": sentence(row),
        }
        for row in told.itertuples()
        if math.isfinite(row.score)
    ]


def sentence(row: Any) -> str:
    """A row of the labels table, in words."""
    error = f" ± {row.error:.3f}" if math.isfinite(row.error) else ""
    lift = f" ({row.lift:.1f} times as much)" if math.isfinite(row.lift) else ""
    p = "below 1e-12" if row.p < 1e-12 else f"{row.p:.2g}"
    return (
        f"Scores {row.score:.3f}{error} over {int(row.documents):,} documents, where even "
        f"attention would score {row.uniform:.3f}{lift} and shuffled keys "
        f"{row.null:.3f}; the chance of this by accident is {p}."
    )


def _profiles(rows: pd.DataFrame | None) -> dict[str, Any]:
    if rows is None:
        return {}
    found: dict[str, Any] = {}
    for name, group in rows.groupby("profile", sort=False):
        if name in ("offset", "position", "length"):
            columns = (group[each] for each in ("name", "count", "expected", "weight"))
            found[str(name)] = [
                [int(value), _number(count), _number(expected), _number(weight)]
                for value, count, expected, weight in zip(*columns, strict=True)
            ]
        else:
            found[str(name)] = _preferred(group)
    return found


def _preferred(group: pd.DataFrame) -> list[list[Any]]:
    """Names with count and lift: those that chance does not explain, by how often they are met."""
    rows: Any = group[group["count"] >= LEAST]
    if rows["p"].notna().any():
        rows = rows[(rows["p"] <= CHANCE) & (rows["lift"] > 1)].nlargest(SHOWN, "count")
    else:
        rows = rows.nlargest(SHOWN, "lift")
    return [
        [str(name), "" if other is None or other != other else str(other), int(count),
         _number(lift), _number(weight)]
        for name, other, count, lift, weight in zip(
            rows["name"], rows["other"], rows["count"], rows["lift"], rows["weight"], strict=True
        )
    ]  # fmt: skip


def _deciles(rows: pd.DataFrame | None) -> dict[str, list[float | None]]:
    """The eleven values between which the deciles of each measure lie."""
    found: dict[str, list[float | None]] = {}
    if rows is not None:
        columns = (rows[name] for name in ("measure", "decile", "low", "high"))
        for measure, decile, low, high in zip(*columns, strict=True):
            bounds = found.setdefault(str(measure), [None] * 11)
            bounds[int(decile)], bounds[int(decile) + 1] = _number(low), _number(high)
    return found


def _near(rows: pd.DataFrame | None) -> list[list[float]]:
    if rows is None:
        return []
    near: Any = rows.nsmallest(NEAREST, "distance")
    return [
        [int(row.other_layer), int(row.other_head), round(float(row.distance), 4)]
        for row in near.itertuples()
    ]


def _number(value: Any) -> float | None:
    value = float(value)
    return float(f"{value:.5g}") if math.isfinite(value) else None
