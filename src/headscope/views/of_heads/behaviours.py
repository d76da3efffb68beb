"""The behaviours of heads for the atlas's page: shares, labels, and the plane of q and k."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.measures import find
from headscope.views.wire.container import Buffers
from headscope.views.wire.packing import pack_numbers, pack_whole, rounded

if TYPE_CHECKING:
    from headscope.atlas.behaviours.result import Behaviours

POINTS = 120_000  # of all heads: a page of them stays below 2 MB
FEWEST = 100  # of a head, however many heads there are
FREQUENT = 3  # keys that are named of each behaviour
MANTISSA = 10  # bits of a coordinate
COORDINATES = ("query_x", "query_y", "key_x", "key_y")


def pack_behaviours(
    found: Behaviours, layers: Sequence[int], heads: int, buffers: Buffers
) -> dict[str, Any]:
    """All heads' behaviours, layer by layer; of many positions a draw, the same for every head."""
    every = [(layer, head) for layer in layers for head in range(heads)]
    total = len(found.positions)
    most = max(FEWEST, POINTS // max(1, len(found.heads)))
    drawn = np.sort(np.random.default_rng(0).permutation(total)[:most])
    number = np.full(total, -1)
    number[drawn] = np.arange(len(drawn))
    words: dict[str, int] = {}
    points: Any = found.points
    points = points[number[points["position"].to_numpy()] >= 0]
    by_head = dict(list(points.groupby(["layer", "head"], sort=False)))
    counts = [len(by_head.get(at, ())) for at in every]
    ordered: Any = _joined([by_head[at] for at in every if at in by_head])
    whole = {
        "position": number[ordered["position"].to_numpy()],
        "behaviour": ordered["behaviour"].to_numpy(),
        "key": ordered["key"].to_numpy(),
        "key_token": np.array([words.setdefault(one, len(words)) for one in ordered["key_token"]]),
    }
    plane = ordered[[*COORDINATES, "weight"]].to_numpy(dtype=np.float32)
    packed = {name: buffers.add(f"b_{name}", pack_whole(one)) for name, one in whole.items()}
    packed["plane"] = buffers.add("b_plane", pack_numbers(rounded(plane, MANTISSA)))
    return {
        "axes": found.plane,
        "total": total,
        "heads": _of_heads(found, every),
        "counts": counts,
        **packed,
        "texts": _texts(found.positions.iloc[drawn], words, buffers),
        "words": list(words),
    }


def _joined(frames: list[Any]) -> Any:
    import pandas as pd

    return pd.concat(frames, ignore_index=True)


def _of_heads(found: Behaviours, every: Sequence[tuple[int, int]]) -> list[list[dict[str, Any]]]:
    profiles: Any = found.profiles
    keys = profiles[profiles["profile"] == "key_token"]
    frequent: dict[tuple[int, int, int], list[str]] = {}
    for row in keys.itertuples():
        named = frequent.setdefault((row.layer, row.head, row.behaviour), [])
        if len(named) < FREQUENT:
            named.append(str(row.name))
    by_head: dict[tuple[int, int], list[dict[str, Any]]] = {}
    rows: Any = found.found
    for row in rows.itertuples():
        by_head.setdefault((row.layer, row.head), []).append(
            {
                "share": round(float(row.share), 4),
                "label": _title(str(row.label)),
                "score": _number(row.score),
                "lift": _number(row.lift),
                "weight": _number(row.weight),
                "keys": frequent.get((row.layer, row.head, row.behaviour), []),
            }
        )
    return [by_head.get(at, []) for at in every]


def _texts(positions: Any, words: dict[str, int], buffers: Buffers) -> dict[str, Any]:
    """The tokens about each position: word numbers, doubled, plus 1 where a word continues."""
    codes: list[int] = []
    starts = [0]
    for row in positions.itertuples():
        codes += [
            2 * words.setdefault(str(token), len(words)) + int(continues)
            for token, continues in zip(row.tokens, row.continues, strict=True)
        ]
        starts.append(len(codes))
    whole = {name: positions[name].to_numpy() for name in ("document", "query", "start")}
    return {
        "starts": starts,
        "tokens": buffers.add("b_tokens", pack_whole(np.array(codes, dtype=np.int64))),
        **{name: buffers.add(f"b_{name}", pack_whole(one)) for name, one in whole.items()},
    }


def _title(name: str) -> str:
    measure = find(name) if name else None
    return name.replace("_", " ") if measure is None else measure.title


def _number(value: Any) -> float | None:
    return float(f"{float(value):.4g}") if np.isfinite(value) else None
