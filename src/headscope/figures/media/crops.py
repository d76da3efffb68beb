"""Patches as small squares beside their names: one strip of pixels along an axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

SIDE, EDGE = 24, 1  # pixels of a crop on the strip, and of them left free around it
GAP = 2 / 72  # inches between a strip and what it stands beside

Crop = NDArray[np.uint8]  # SIDE SIDE 3


def crop(picture: NDArray[np.uint8], rectangle: NDArray[np.floating]) -> Crop:
    """A rectangle (left, top, right, bottom) of a picture as a square."""
    left, top, right, bottom = rectangle.tolist()
    share = (np.arange(SIDE) + 0.5) / SIDE
    rows = np.clip(top + share * (bottom - top), 0, picture.shape[0] - 1).astype(int)
    columns = np.clip(left + share * (right - left), 0, picture.shape[1] - 1).astype(int)
    return picture[rows[:, None], columns[None, :], :3]


def strip_beside(axes: Axes, crops: Sequence[Crop | None], side: str, inches: float) -> None:
    """Squares along one side of the axes (left, right or top), where 0, 1, 2, … are."""
    strip = np.zeros((len(crops), SIDE, SIDE, 4), np.uint8)
    for at, each in enumerate(crops):
        if each is not None:
            strip[at, EDGE:-EDGE, EDGE:-EDGE, :3] = each[EDGE:-EDGE, EDGE:-EDGE]
            strip[at, EDGE:-EDGE, EDGE:-EDGE, 3] = 255
    box = axes.get_window_extent()
    wide, high = box.width / axes.figure.dpi, box.height / axes.figure.dpi
    first, last = -0.5, len(crops) - 0.5
    if side == "top":
        room = axes.inset_axes((0, 1 + GAP / high, 1, inches / high))
        pixels, extent = np.concatenate([*strip], axis=1), (first, last, 0.0, 1.0)
        limits = axes.get_xlim(), (0.0, 1.0)
    else:
        left = -(inches + GAP) / wide if side == "left" else 1 + GAP / wide
        room = axes.inset_axes((left, 0, inches / wide, 1))
        pixels, extent = np.concatenate([*strip], axis=0), (0.0, 1.0, last, first)
        limits = (0.0, 1.0), axes.get_ylim()
    room.imshow(pixels, extent=extent, aspect="auto", interpolation="nearest")
    room.set(xlim=limits[0], ylim=limits[1])
    room.axis("off")
