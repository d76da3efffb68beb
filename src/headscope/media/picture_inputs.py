"""What a model's image processor makes of pictures, and where each patch lies in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.media.geometry import (
    Decoder,
    Floats,
    Window,
    coordinates_picture,
    grid_of_patches,
    scattered_patches,
    window_of,
)
from headscope.media.picture import Picture


@dataclass(frozen=True, eq=False)
class Tile:
    """One input a model makes of a picture: the whole, or a part of it."""

    window: Window
    height: int  # pixels of the input
    width: int


@dataclass(frozen=True, eq=False)
class Laid:
    """How a picture lies in a model's input: tiles of pixels, or patches one by one."""

    tiles: tuple[Tile, ...] = ()
    rectangles: NDArray[np.float32] | None = None  # of patches that come one by one
    grid: NDArray[np.int32] | None = None


def image_processor_of(processor: Any) -> Any:
    """The part of a processor that takes pictures, or None."""
    inner = getattr(processor, "image_processor", None)
    if inner is not None:
        return inner
    return processor if hasattr(processor, "image_mean") or hasattr(processor, "resize") else None


def lay(image_processor: Any, picture: Picture) -> Laid:
    """Where what the processor makes of a picture of this size comes from."""
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
    """A grid over a tile, whatever the model pools: rectangles, and rows and columns."""
    return grid_of_patches(tile.window, rows, columns, (tile.height / rows, tile.width / columns))


def centred_cells(
    tile: Tile, rows: int, columns: int, stride: int
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Cells around every `stride`th pixel, beginning with the first; those at the edges reach it.

    Convolutions with odd kernels look around the pixel they step to, not past it.
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
        f"{type(image_processor).__name__} lays pictures out in a way headscope does not know "
        f"({' × '.join(map(str, array.shape))}); use scope.read_inputs with names of your own."
    )
