"""A head's panel beside its examples: evidence in words, profiles, neighbours."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope.atlas.atlas import Atlas

SHOWN = 10  # tokens of a profile
NEAREST = 5
LEAST = 5  # fewest counts for showing a lift
CHANCE = 1e-3
NOT_SHOWN = ("key_word", "key_speech")  # tokens and pairs of parts of speech show it already


def head_pages(
    atlas: Atlas, kind: str, layers: tuple[int, ...], heads: int
) -> list[dict[str, Any]]:
    """One entry per head, layer by layer."""
    by_head = {name: _by_head(atlas, name, kind) for name in ("labels", "profiles", "deciles")}
    distances = _by_head(atlas, "distances", kind)
    pages: list[dict[str, Any]] = []
    for layer in layers:
        for head in range(heads):
            at = (layer, head)
            pages.append(
                {
                    "evidence": _evidence(by_head["labels"].get(at, [])),
                    "shown": _shown(by_head["labels"].get(at, [])),
                    "profiles": _profiles(by_head["profiles"].get(at, [])),
                    "deciles": _deciles(by_head["deciles"].get(at, [])),
                    "near": _near(distances.get(at, [])),
                }
            )
    return pages


def _by_head(atlas: Atlas, name: str, kind: str) -> dict[tuple[int, int], list[Any]]:
    """The rows of a table as plain tuples, ten times as fast as data frames."""
    found: dict[tuple[int, int], list[Any]] = {}
    if atlas.has(name):
        for row in atlas.frame(name).itertuples(index=False):
            if row.kind == kind:  # pyright: ignore
                found.setdefault((int(row.layer), int(row.head)), []).append(row)  # pyright: ignore
    return found


def _shown(labels: list[Any]) -> str:
    """The measure whose examples come first, as in `Atlas.shown_measure`."""
    held = [row for row in labels if row.labelled]
    return str(max(held, key=lambda row: row.score).pattern) if held else "confidence"


def _evidence(labels: list[Any]) -> list[dict[str, Any]]:
    """The head's labels, strongest first; without one, the nearest miss."""
    held = sorted((row for row in labels if row.labelled), key=lambda row: -row.score)
    near = [row for row in labels if math.isfinite(row.lift)]
    told = held or ([max(near, key=lambda row: row.lift)] if near else [])
    return [
        {
            "label": str(row.label),
            "pattern": str(row.pattern),
            "score": round(float(row.score), 4),
            "holds": bool(row.labelled),
            "sentence": sentence(row),
        }
        for row in told
        if math.isfinite(row.score)
    ]


def sentence(row: Any) -> str:
    """A row of the labels table, in words."""
    error = f" ± {row.error:.3f}" if math.isfinite(row.error) else ""
    lift = f" ({row.lift:.1f} times as much)" if math.isfinite(row.lift) else ""
    p = "below 1e-12" if row.p < 1e-12 else f"{row.p:.2g}"
    chance = (
        f"the chance of this by accident is {p}"
        if math.isfinite(row.p)
        else "so few documents allow no test of chance"
    )
    return (
        f"Scores {row.score:.3f}{error} over {int(row.documents):,} documents, where uniform "
        f"attention would score {row.uniform:.3f}{lift} and shuffled keys "
        f"{row.null:.3f}; {chance}."
    )


def _profiles(rows: list[Any]) -> dict[str, Any]:
    groups: dict[str, list[Any]] = {}
    for row in rows:
        groups.setdefault(str(row.profile), []).append(row)
    found: dict[str, Any] = {}
    for name, group in groups.items():
        if name in ("offset", "position", "length"):
            found[name] = [
                [int(row.name), *(_number(x) for x in (row.count, row.expected, row.weight))]
                for row in group
            ]
        elif name == "writes":
            found[name] = [[str(row.name), "", 0, None, _number(row.weight)] for row in group]
        elif name not in NOT_SHOWN:
            found[name] = _preferred(group)
    return found


def _preferred(group: list[Any]) -> list[list[Any]]:
    """Names with count and lift, if chance does not explain them, by frequency."""
    rows = [row for row in group if row.count >= LEAST and row.p <= CHANCE and row.lift > 1]
    rows.sort(key=lambda row: -row.count)
    return [
        [
            str(row.name),
            str(row.other or ""),
            int(row.count),
            _number(row.lift),
            _number(row.weight),
        ]
        for row in rows[:SHOWN]
    ]


def _deciles(rows: list[Any]) -> dict[str, list[list[float | None]]]:
    """Each measure's deciles: number, least and largest value, share of the positions drawn."""
    found: dict[str, list[list[float | None]]] = {}
    for row in rows:
        each = [int(row.decile), _number(row.low), _number(row.high), _number(row.share)]
        found.setdefault(str(row.measure), []).append(each)
    return found


def _near(rows: list[Any]) -> list[list[float]]:
    near = sorted(rows, key=lambda row: row.distance)[:NEAREST]
    return [
        [int(row.other_layer), int(row.other_head), round(float(row.distance), 4)] for row in near
    ]


def _number(value: Any) -> float | None:
    value = float(value)
    return float(f"{value:.5g}") if math.isfinite(value) else None
