"""Where each pixel a model is given lies in the original picture.

Nothing is computed from a processor's settings, which every family has its own: a picture whose
colours say where they stand goes through the processor in place of the real one, and comes out
resized, cropped, padded and cut into tiles the way the real one does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput

Floats = NDArray[np.float64]
INSIDE = 0.08  # share left out at each edge, where resampling bends the colours


@dataclass(frozen=True)
class Window:
    """The part of the original picture that one input shows: x = across · column + left."""

    left: float
    top: float
    across: float  # original pixels for one pixel of the input
    down: float

    def rectangle(self, top: float, left: float, bottom: float, right: float) -> list[float]:
        """Pixels of the input as left, top, right, bottom of the original."""
        return [
            self.left + left * self.across,
            self.top + top * self.down,
            self.left + right * self.across,
            self.top + bottom * self.down,
        ]


def coordinates_picture(height: int, width: int) -> NDArray[np.uint8]:
    """Red grows to the right, green downwards, blue is full wherever there is a picture."""
    columns = (np.arange(width) + 0.5) / width * 255
    rows = (np.arange(height) + 0.5) / height * 255
    red, green = np.meshgrid(columns, rows)
    return np.stack([red, green, np.full_like(red, 255)], axis=-1).round().astype(np.uint8)


@dataclass(frozen=True)
class Decoder:
    """Gives back the colours of the coordinate picture from what a processor made of them."""

    scale: Floats  # 3
    shift: Floats  # 3

    @staticmethod
    def of(process: Any, height: int, width: int) -> Decoder:
        """Two pictures of one colour each tell what became of black and of white."""
        black = process(np.zeros((height, width, 3), np.uint8))
        white = process(np.full((height, width, 3), 255, np.uint8))
        low, high = _typical(black), _typical(white)
        if np.any(np.abs(high - low) < 1e-6):
            raise BadInput("The model's processor gives black and white pictures the same colours.")
        return Decoder((high - low) / 255, low)

    def colours(self, channels: Floats) -> Floats:
        """(…, 3) as between 0 and 255."""
        return (channels - self.shift) / self.scale


def _typical(pixels: Floats) -> Floats:
    """The commonest value of each channel; padding takes less of a picture than the picture."""
    return np.median(pixels.reshape(-1, 3), axis=0)


def window_of(pixels: Floats, height: int, width: int) -> Window:
    """The window of one input, rows × columns × 3, colours as the coordinate picture has them."""
    rows, columns = pixels.shape[:2]
    there = pixels[:, :, 2] > 200
    if not there.any():
        raise BadInput("The model's processor left nothing of the picture; give a larger one.")
    down, top = _line(pixels[:, :, 1], there, axis=0, count=rows, size=height)
    across, left = _line(pixels[:, :, 0], there, axis=1, count=columns, size=width)
    return Window(left, top, across, down)


def _line(
    values: Floats, there: NDArray[np.bool_], axis: int, count: int, size: int
) -> tuple[float, float]:
    """Slope and offset of original position against input position, by least squares."""
    other = 1 - axis
    along = there.any(axis=other)
    places = np.flatnonzero(along)
    cut = int(len(places) * INSIDE)
    places = places[cut : len(places) - cut] if len(places) > 4 * max(cut, 1) else places
    weights = there.astype(np.float64)
    sums, counts = (values * weights).sum(axis=other), weights.sum(axis=other)
    found = sums[places] / counts[places] / 255 * size
    if len(places) < 2:
        return size / count, 0.0
    slope, offset = np.polyfit(places + 0.5, found, 1)
    step = size / 255  # of eight-bit colours; nearer than that to the whole picture is the whole
    if abs(offset) < step and abs(offset + slope * count - size) < step:
        return size / count, 0.0
    return float(slope), float(offset)


def grid_of_patches(
    window: Window, rows: int, columns: int, patch: tuple[float, float]
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Rectangles in the original picture, row by row, and each one's row and column."""
    down, across = patch
    rectangles = [
        window.rectangle(row * down, column * across, (row + 1) * down, (column + 1) * across)
        for row in range(rows)
        for column in range(columns)
    ]
    grid = [(row, column) for row in range(rows) for column in range(columns)]
    return np.array(rectangles, np.float32), np.array(grid, np.int32)


def scattered_patches(
    centres: Floats, height: int, width: int
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Patches handed over one by one, in whatever order: rectangles from their own colours."""
    x = centres[:, 0] / 255 * width
    y = centres[:, 1] / 255 * height
    columns, across, left = _ranks(x)
    rows, down, top = _ranks(y)
    rectangles = np.stack(
        [
            left + columns * across,
            top + rows * down,
            left + (columns + 1) * across,
            top + (rows + 1) * down,
        ],
        axis=1,
    )
    return rectangles.astype(np.float32), np.stack([rows, columns], axis=1).astype(np.int32)


def _ranks(values: Floats) -> tuple[NDArray[np.int64], float, float]:
    """Which column each value is in, how wide columns are, and where the first begins."""
    ordered = np.sort(values)
    steps = np.diff(ordered)
    wide = steps > max(steps.max(initial=0.0) / 4, 1e-9)
    groups = np.split(ordered, np.flatnonzero(wide) + 1)
    middles = np.array([group.mean() for group in groups])
    ranks = np.abs(values[:, None] - middles[None, :]).argmin(axis=1)
    if len(middles) < 2:
        return ranks, float(2 * middles[0]), 0.0
    width, start = np.polyfit(np.arange(len(middles)) + 0.5, middles, 1)
    return ranks, float(width), float(start)
