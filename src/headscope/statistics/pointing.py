"""Which heads find the object: the pointing game and intersection over union, against chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from headscope.arguments import need_items, need_reading
from headscope.errors import BadInput
from headscope.media.positions import PositionKind, Positions
from headscope.results import HeadResult
from headscope.statistics.significance import FEWEST

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Part, Reading

Floats = NDArray[np.float64]
MEASURES = ("pointing_game", "object_iou", "object_share")


@dataclass(frozen=True, eq=False, repr=False)
class Pointing(HeadResult):
    """How well every head finds the object; each measure has its `:null` beside it."""

    table: pd.DataFrame  # pyright: ignore[reportIncompatibleMethodOverride]
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return f"Heads of {self.metadata.get('model') or 'a model'} that find the object"


def pointing_game(
    readings: Reading | Sequence[Reading],
    boxes: Any = None,
    *,
    masks: Any = None,
    query: int | None = None,
) -> Pointing:
    """Whether heads attend to the object of a picture.

    `pointing_game` is the share of readings whose most attended patch lies on the object (Zhang et
    al. 2018). `object_iou` is the intersection over union of the object's m patches and the m most
    attended ones. `object_share` is the share of attention to the picture that lies on the object.
    The nulls are exact: a patch, or m patches, drawn at random, and uniform attention.

    Parameters
    ----------
    readings
        Readings of pictures, or one.
    boxes
        Left, top, right, bottom in pixels of the original picture: one, or one for each reading.
    masks
        In place of boxes, arrays of the picture's size that are true on the object.
    query
        The position that attends; by default the class token, or the mean of all positions.

    Returns
    -------
    Pointing
        The three measures of every head, each with its null.

    Examples
    --------
    >>> import numpy as np, headscope as hs
    >>> picture = np.zeros((28, 28, 3), np.uint8)
    >>> reading = hs.load("digits").read(image=picture)
    >>> found = hs.pointing_game(reading, (7, 7, 21, 21))
    >>> found.map("object_share").shape == found.map("object_share:null").shape
    True
    """
    several: list[Any] = [readings]
    if not hasattr(readings, "parts"):
        need_items(readings, "readings")
        several = [*cast("Any", readings)]
    for one in several:
        need_reading(one)
    if not several:
        raise BadInput("Give at least one reading.")
    objects = _objects(several, boxes, masks)
    found = [_of_one(one, where, query) for one, where in zip(several, objects, strict=True)]
    return Pointing(_table(several[0].part(), found), {"model": several[0].model})


def _objects(readings: Sequence[Reading], boxes: Any, masks: Any) -> list[Any]:
    """For each reading a function that tells which points lie on its object."""
    if (boxes is None) == (masks is None):
        raise BadInput("Say where the object is: boxes=(left, top, right, bottom), or masks=.")
    if boxes is not None:
        try:
            given = np.asarray(boxes, dtype=np.float64)
        except (TypeError, ValueError):
            raise BadInput("A box is four numbers: left, top, right, bottom.") from None
        given = given[None] if given.ndim == 1 else given
        if given.shape != (len(readings), 4):
            raise BadInput("A box is left, top, right, bottom; give one for each reading.")
        return [_in_box(*box) for box in given]
    need_items(masks, "masks")
    listed = [np.asarray(one).astype(bool) for one in ([masks] if np.ndim(masks) == 2 else masks)]
    if len(listed) != len(readings):
        raise BadInput("Give one mask for each reading.")
    for mask, reading in zip(listed, readings, strict=True):
        shape = reading.pictures[0].pixels.shape[:2] if reading.pictures else None
        if mask.shape != shape:
            raise BadInput(f"A mask has the size of its picture, {shape}, not {mask.shape}.")
    return [_in_mask(mask) for mask in listed]


def _in_box(left: float, top: float, right: float, bottom: float) -> Any:
    def inside(x: Floats, y: Floats) -> NDArray[np.bool_]:
        return (x >= left) & (x < right) & (y >= top) & (y < bottom)

    return inside


def _in_mask(mask: NDArray[np.bool_]) -> Any:
    def inside(x: Floats, y: Floats) -> NDArray[np.bool_]:
        rows = np.clip(y.astype(int), 0, mask.shape[0] - 1)
        columns = np.clip(x.astype(int), 0, mask.shape[1] - 1)
        return mask[rows, columns]

    return inside


def _of_one(reading: Reading, inside: Any, query: int | None) -> dict[str, Floats]:
    part = reading.part()
    positions = part.key.positions
    if positions is None or not (positions.kinds == PositionKind.PATCH).any():
        raise BadInput("This reading has no picture; make one with scope.read(image=…).")
    patches = np.flatnonzero(positions.kinds == PositionKind.PATCH)
    x, y = ((positions.rectangles[patches, :2] + positions.rectangles[patches, 2:]) / 2).T
    on = inside(x.astype(np.float64), y.astype(np.float64))
    if not on.any():
        raise BadInput("No patch has its centre on the object; give a larger box or mask.")
    looks = _looking(part, positions, query)[:, :, patches]  # layers heads patches
    count = int(on.sum())
    strongest = np.argsort(-looks, axis=-1, kind="stable")[..., :count]
    hits = on[strongest].sum(axis=-1)
    total = looks.sum(axis=-1)
    share = np.divide((looks * on).sum(axis=-1), total, out=np.zeros_like(total), where=total > 0)
    even = np.full(total.shape, count / len(on))
    return {
        "pointing_game": on[strongest[..., 0]].astype(np.float64),
        "pointing_game:null": even,
        "object_iou": hits / (2 * count - hits),
        "object_iou:null": np.full(total.shape, chance_of_overlap(len(on), count)),
        "object_share": share,
        "object_share:null": even,
    }


def chance_of_overlap(patches: int, count: int) -> float:
    """The mean intersection over union of `count` patches with as many drawn at random."""
    from scipy.stats import hypergeom

    hits = np.arange(count + 1)
    chances = hypergeom.pmf(hits, patches, count, count)
    return float((chances * hits / (2 * count - hits)).sum())


def _looking(part: Part, positions: Positions, query: int | None) -> Floats:
    classes = np.flatnonzero(positions.kinds == PositionKind.CLASS)
    if query is None and part.kind == "encoder" and classes.size:
        query = int(classes[0])
    if query is not None and not 0 <= query < len(part.query):
        raise BadInput(f"There is no position {query}; there are {len(part.query)}.")
    rows = slice(None) if query is None else slice(query, query + 1)
    return np.stack([part.weights(number)[:, rows].mean(axis=1) for number in part.numbers])


def _table(part: Part, found: Sequence[dict[str, Floats]]) -> pd.DataFrame:
    import pandas as pd

    layers, heads = np.meshgrid(part.numbers, np.arange(part.heads), indexing="ij")
    frames: list[pd.DataFrame] = []
    for name in found[0]:
        values = np.stack([one[name] for one in found])
        enough = len(found) >= FEWEST
        spread = values.std(axis=0, ddof=1) if enough else np.full(layers.shape, np.nan)
        columns = {
            "kind": part.kind, "layer": layers.ravel(), "head": heads.ravel(), "measure": name,
            "value": values.mean(axis=0).ravel(), "error": spread.ravel() / np.sqrt(len(found)),
            "count": len(found),
        }  # fmt: skip
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)
