"""What a model's image processor does to a picture, and each patch's region in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.media.picture import Picture


@dataclass(frozen=True, eq=False)
class Tile:
    """One model input from a picture: the whole picture or a part."""

    window: Window
    height: int  # pixels of the input
    width: int


@dataclass(frozen=True, eq=False)
class Laid:
    """A picture's layout in a model's input: tiles of pixels, or single patches."""

    tiles: tuple[Tile, ...] = ()
    rectangles: NDArray[np.float32] | None = None  # of single patches
    grid: NDArray[np.int32] | None = None


def image_processor_of(processor: Any) -> Any:
    """The part of a processor that takes pictures, or None."""
    inner = getattr(processor, "image_processor", None)
    if inner is not None:
        return inner
    return processor if hasattr(processor, "image_mean") or hasattr(processor, "resize") else None


def lay(image_processor: Any, picture: Picture) -> Laid:
    """The layout of a picture of this size after the processor."""
    height, width = picture.height, picture.width

    def process(pixels: NDArray[np.uint8]) -> Floats:
        return _channels_last(_pixels(image_processor, pixels), image_processor)

    decoder = Decoder.of(process, height, width)
    colours = decoder.colours(process(coordinates_picture(height, width)))
    if colours.ndim == 3:  # patches, pixels of each, colours
        rectangles, grid = scattered_patches(colours.mean(axis=1), height, width)
        return Laid(rectangles=rectangles, grid=grid)
    tiles = [Tile(window_of(tile, height, width), tile.shape[0], tile.shape[1]) for tile in colours]
    return Laid(tiles=tuple(tiles))


def patches_of_tile(
    tile: Tile, rows: int, columns: int
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """A grid over a tile: rectangles, rows and columns."""
    return grid_of_patches(tile.window, rows, columns, (tile.height / rows, tile.width / columns))


def centred_cells(
    tile: Tile, rows: int, columns: int, stride: int
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Cells around every `stride`th pixel, beginning with the first; those at the edges reach it.

    Convolutions with odd kernels are centred on the pixel they step to.
    """
    down, across = (
        [0.0, *(stride * (at - 0.5) + 0.5 for at in range(1, count)), float(size)]
        for count, size in ((rows, tile.height), (columns, tile.width))
    )
    grid = [(row, column) for row in range(rows) for column in range(columns)]
    rectangles = [
        tile.window.rectangle(down[row], across[column], down[row + 1], across[column + 1])
        for row, column in grid
    ]
    return np.array(rectangles, np.float32), np.array(grid, np.int32)


def _pixels(image_processor: Any, pixels: NDArray[np.uint8]) -> Any:
    from PIL import Image

    try:
        return image_processor(images=Image.fromarray(pixels), return_tensors="np")["pixel_values"]
    except (ValueError, TypeError, ZeroDivisionError) as error:
        raise BadInput(f"The model's processor cannot take this picture ({error}).") from error


def _channels_last(values: Any, image_processor: Any) -> Floats:
    """tiles rows columns 3, or patches pixels 3 where the processor flattens patches."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 5:  # one picture in several tiles
        array = array[0]
    if array.ndim == 4 and array.shape[1] == 3:
        return array.transpose(0, 2, 3, 1)
    if array.ndim == 2:
        # channels × moments × patch × patch in a row
        return array.reshape(len(array), 3, -1).transpose(0, 2, 1)
    raise BadInput(
        f"{type(image_processor).__name__} arranges pictures in a way headscope does not know "
        f"({' × '.join(map(str, array.shape))}); use scope.read_inputs with names of your own."
    )


# Where each pixel a model is given lies in the original picture.
#
# A processor's settings differ by family and are not used: a picture whose colours encode
# coordinates goes through the processor, and comes out resized, cropped, padded and tiled like the
# real one.

Floats = NDArray[np.float64]
INSIDE = 0.08  # share left out at each edge, where resampling changes the colours


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
    """Recovers the coordinate picture's colours from a processor's output."""

    scale: Floats  # 3
    shift: Floats  # 3

    @staticmethod
    def of(process: Any, height: int, width: int) -> Decoder:
        """Fit on two pictures of one colour each: the processor's black and white."""
        black = process(np.zeros((height, width, 3), np.uint8))
        white = process(np.full((height, width, 3), 255, np.uint8))
        low, high = _typical(black), _typical(white)
        if np.any(np.abs(high - low) < 1e-6):
            raise BadInput(
                "The model's processor turns black and white into the same values, "
                "so the patches cannot be located."
            )
        return Decoder((high - low) / 255, low)

    def colours(self, channels: Floats) -> Floats:
        """(…, 3) as between 0 and 255."""
        return (channels - self.shift) / self.scale


def _typical(pixels: Floats) -> Floats:
    """The commonest value of each channel, which is not the padding's."""
    return np.median(pixels.reshape(-1, 3), axis=0)


def window_of(pixels: Floats, height: int, width: int) -> Window:
    """The window of one input, rows × columns × 3, colours as the coordinate picture has them."""
    rows, columns = pixels.shape[:2]
    there = pixels[:, :, 2] > 200
    if not there.any():
        raise BadInput(
            "The model's processor scaled the picture down to 0 pixels; give a larger one."
        )
    down, top = _line(pixels[:, :, 1], there, axis=0, count=rows, size=height)
    across, left = _line(pixels[:, :, 0], there, axis=1, count=columns, size=width)
    return Window(left, top, across, down)


def _line(
    values: Floats, there: NDArray[np.bool_], axis: int, count: int, size: int
) -> tuple[float, float]:
    """Slope and offset of original position against input position, by least squares."""
    other = 1 - axis
    along = there.any(axis=other)
    positions = np.flatnonzero(along)
    cut = int(len(positions) * INSIDE)
    positions = (
        positions[cut : len(positions) - cut] if len(positions) > 4 * max(cut, 1) else positions
    )
    weights = there.astype(np.float64)
    sums, counts = (values * weights).sum(axis=other), weights.sum(axis=other)
    found = sums[positions] / counts[positions] / 255 * size
    if len(positions) < 2:
        return size / count, 0.0
    slope, offset = np.polyfit(positions + 0.5, found, 1)
    step = size / 255  # of eight-bit colours: the window is the whole picture up to this error
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
    """Single patches in any order: rectangles from their own colours."""
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
