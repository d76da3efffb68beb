"""Measures of a head over a picture or a sound: one function each, from weights to a number.

Each takes `weights` (queries × keys of one head, rows that sum to one) and both sides' positions,
and returns the mean over the queries it is defined for; NaN if there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from headscope.measures import Measure
from headscope.media.positions import PositionKind, Positions
from headscope.reading import Part
from headscope.text.tokens import Tokens

Floats = NDArray[np.float64]
NEAR = 1.5  # patches between centres: a patch and the eight around it


@dataclass(frozen=True, eq=False)
class Sides:
    query: Positions
    key: Positions


Function = Callable[[Floats, Sides], float]
_known: dict[str, tuple[Measure, Function]] = {}


def measured(name: str, title: str, sentence: str, **more: str | float) -> Callable[..., Function]:
    """Register the decorated function as a measure."""

    def keep(function: Function) -> Function:
        facts = {"unit": "share", "low": 0.0, "high": 1.0, "paper": "as defined here", **more}
        measure = Measure(name, title, sentence, origin="picture", of_one_text=True, **facts)  # pyright: ignore[reportArgumentType]
        _known[name] = (measure, function)
        return function

    return keep


def known() -> Mapping[str, tuple[Measure, Function]]:
    return _known


def _are(positions: Positions, *kinds: PositionKind) -> NDArray[np.bool_]:
    return np.isin(positions.kinds, [int(kind) for kind in kinds])


def middles(positions: Positions) -> Floats:
    """x and y of the middle of each patch, in pixels of the original picture."""
    return (positions.rectangles[:, :2] + positions.rectangles[:, 2:]).astype(np.float64) / 2


def _among(weights: Floats, rows: NDArray[np.bool_], columns: NDArray[np.bool_]) -> Floats | None:
    """Rows scaled to sum to one over the columns; None if no query attends to them."""
    found = weights[np.ix_(rows, columns)]
    sums = found.sum(axis=1, keepdims=True)
    found = found[sums[:, 0] > 1e-12] / sums[sums[:, 0] > 1e-12]
    return found if found.size else None


def _on_patches(weights: Floats, sides: Sides, values: Floats) -> float:
    """The mean of a table (patches × patches) under attention from patches to patches."""
    rows, columns = _are(sides.query, PositionKind.PATCH), _are(sides.key, PositionKind.PATCH)
    found = weights[np.ix_(rows, columns)]
    same = sides.query.pictures[rows][:, None] == sides.key.pictures[columns][None, :]
    found = np.where(same, found, 0.0)  # positions in two pictures have no distance
    sums = found.sum(axis=1)
    there = sums > 1e-12
    if not there.any():
        return float("nan")
    return float(((found * values).sum(axis=1)[there] / sums[there]).mean())


def _between(sides: Sides) -> Floats:
    """x and y from each query patch to each key patch, in pixels."""
    query = middles(sides.query)[_are(sides.query, PositionKind.PATCH)]
    key = middles(sides.key)[_are(sides.key, PositionKind.PATCH)]
    return key[None, :, :] - query[:, None, :]


@measured(
    "picture_distance",
    "distance in the picture",
    "How far from a patch the head looks on average, from middle to middle in pixels of the "
    "original picture; attention to other positions than patches is left out.",
    unit="pixels", high=float("inf"),
    formula="mean_i Σ_j α_ij |p_j − p_i| / Σ_j α_ij, i and j patches",
    paper="Dosovitskiy et al. 2021, appendix D.7; Raghu et al. 2021, section 4",
)  # fmt: skip
def picture_distance(weights: Floats, sides: Sides) -> float:
    return _on_patches(weights, sides, np.sqrt((_between(sides) ** 2).sum(axis=-1)))


@measured(
    "picture_locality",
    "locality in the picture",
    "The share of a patch's attention to the picture that stays on itself and the eight patches "
    "around it.",
    formula="mean_i Σ_{j near i} α_ij / Σ_j α_ij, i and j patches",
)
def picture_locality(weights: Floats, sides: Sides) -> float:
    patches = sides.key.rectangles[_are(sides.key, PositionKind.PATCH)].astype(np.float64)
    if not len(patches):
        return float("nan")
    size = np.median(patches[:, 2:] - patches[:, :2], axis=0)
    near = np.asarray((np.abs(_between(sides)) < NEAR * size).all(axis=-1), dtype=np.float64)
    return _on_patches(weights, sides, near)


@measured(
    "picture_entropy",
    "entropy over the picture",
    "How widely the head spreads its attention over the patches, whatever else it looks at; "
    "ln of the number of patches where it looks at all alike.",
    unit="nats", high=float("inf"), formula="mean_i −Σ_j β_ij ln β_ij, β_ij = α_ij / Σ_patches α",
)  # fmt: skip
def picture_entropy(weights: Floats, sides: Sides) -> float:
    return _entropy(weights, sides, PositionKind.PATCH)


def _entropy(weights: Floats, sides: Sides, kind: PositionKind) -> float:
    found = _among(weights, np.ones(len(weights), bool), _are(sides.key, kind))
    if found is None:
        return float("nan")
    logs = np.log(found, out=np.zeros_like(found), where=found > 0)
    return float(-(found * logs).sum(axis=1).mean())


def _share(weights: Floats, rows: NDArray[np.bool_], columns: NDArray[np.bool_]) -> float:
    if not rows.any() or not columns.any():
        return float("nan")
    return float(weights[np.ix_(rows, columns)].sum(axis=1).mean())


@measured(
    "to_class_token",
    "to the class token",
    "The share of the patches' attention that goes to the class token.",
    formula="mean_i α_i,class, i patches",
)
def to_class_token(weights: Floats, sides: Sides) -> float:
    rows = _are(sides.query, PositionKind.PATCH, PositionKind.FRAME)
    return _share(weights, rows, _are(sides.key, PositionKind.CLASS))


@measured(
    "to_registers",
    "to register tokens",
    "The share of the patches' attention that goes to register tokens, which hold no picture.",
    formula="mean_i Σ_{j register} α_ij, i patches",
    paper="Darcet et al. 2024",
)
def to_registers(weights: Floats, sides: Sides) -> float:
    return _share(
        weights, _are(sides.query, PositionKind.PATCH), _are(sides.key, PositionKind.REGISTER)
    )


@measured(
    "text_to_picture",
    "from text to picture",
    "The share of the words' attention that goes to the picture.",
    formula="mean_i Σ_{j patch} α_ij, i words",
)
def text_to_picture(weights: Floats, sides: Sides) -> float:
    if _are(sides.key, PositionKind.PATCH).all():
        return float("nan")  # for cross attention to only a picture the share is 1
    return _share(
        weights, _are(sides.query, PositionKind.WORD), _are(sides.key, PositionKind.PATCH)
    )


@measured(
    "time_distance",
    "distance in time",
    "How far from a moment the head looks on average, in seconds of the sound.",
    unit="seconds", high=float("inf"),
    formula="mean_i Σ_j α_ij |t_j − t_i| / Σ_j α_ij, i and j frames",
)  # fmt: skip
def time_distance(weights: Floats, sides: Sides) -> float:
    rows, columns = _are(sides.query, PositionKind.FRAME), _are(sides.key, PositionKind.FRAME)
    found = _among(weights, rows, columns)
    if found is None or len(found) != rows.sum():
        return float("nan")
    query = sides.query.seconds[rows].mean(axis=1).astype(np.float64)
    key = sides.key.seconds[columns].mean(axis=1).astype(np.float64)
    return float((found * np.abs(key[None, :] - query[:, None])).sum(axis=1).mean())


@measured(
    "time_entropy",
    "entropy over the sound",
    "How widely the head spreads its attention over the moments of the sound.",
    unit="nats", high=float("inf"), formula="mean_i −Σ_j β_ij ln β_ij, β_ij = α_ij / Σ_frames α",
)  # fmt: skip
def time_entropy(weights: Floats, sides: Sides) -> float:
    return _entropy(weights, sides, PositionKind.FRAME)


# Every measure of a part with positions in a picture or a sound.

Values = dict[str, NDArray[np.float64]]
_kept: WeakKeyDictionary[Part, Values] = WeakKeyDictionary()


def media_values(part: Part) -> Values:
    """Measures as layers × heads; those that are undefined for every head are left out.

    Empty for a part of text alone. Computed once per part and cached with it.
    """
    if part.query.positions is None and part.key.positions is None:
        return {}
    if part not in _kept:
        _kept[part] = _measured(part)
    return _kept[part]


def _measured(part: Part) -> Values:
    sides = Sides(positions_of(part.query), positions_of(part.key))
    found = {name: np.full((len(part.numbers), part.heads), np.nan) for name in known()}
    for at, number in enumerate(part.numbers):
        for head in range(part.layer(number).shape[0]):
            weights = np.asarray(part.head_weights(number, head), dtype=np.float64)
            for name, (_, function) in known().items():
                found[name][at, head] = function(weights, sides)
    return {name: values for name, values in found.items() if not np.isnan(values).all()}


def positions_of(tokens: Tokens) -> Positions:
    """A side's positions; words and special tokens are nowhere."""
    if tokens.positions is not None:
        return tokens.positions
    kinds = np.where(tokens.content, PositionKind.WORD, PositionKind.SPECIAL)
    return Positions.nowhere(kinds.astype(np.int8))
