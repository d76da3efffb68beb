"""What each position of a vision tower is: patches in their grid, class and register tokens."""

from __future__ import annotations

from typing import Any

import numpy as np

from headscope.errors import BadInput
from headscope.media.picture_inputs import Laid, patches_of_tile
from headscope.media.places import PlaceKind, Places

STRIDES = (32, 16, 64, 8)  # of the feature maps that detectors attend over
MOST_EXTRA = 16  # class, distillation and register tokens


def tower_places(configuration: Any, laid: Laid, count: int, picture: int = 0) -> Places:
    """Places of `count` positions that a tower attended with, over one tile."""
    if laid.rectangles is not None and laid.grid is not None:
        if len(laid.rectangles) != count:
            raise _unknown(configuration, count)
        return Places.patches(laid.rectangles, laid.grid, picture)
    rows, columns = _grid(configuration, laid, count)
    rectangles, grid = patches_of_tile(laid.tiles[0], rows, columns)
    extra = extra_places(configuration, count - rows * columns)
    return Places.joined(extra, Places.patches(rectangles, grid, picture))


def extra_places(configuration: Any, count: int) -> Places:
    """Class token first, then what else stands before the patches: registers, a second class."""
    vision = getattr(configuration, "vision_config", configuration)
    registers = min(int(getattr(vision, "num_register_tokens", 0) or 0), max(count - 1, 0))
    kinds = np.full(count, PlaceKind.SPECIAL, np.int8)
    kinds[:1] = PlaceKind.CLASS
    kinds[1 : 1 + registers] = PlaceKind.REGISTER
    return Places.nowhere(kinds)


def grid_size(configuration: Any, laid: Laid) -> tuple[int, int] | None:
    """Rows and columns of patches by the model's patch size, where it has one."""
    vision = getattr(configuration, "vision_config", configuration)
    patch = getattr(vision, "patch_size", None)
    if patch is None or not laid.tiles:
        return None
    down, across = (patch, patch) if isinstance(patch, int) else (int(patch[0]), int(patch[1]))
    tile = laid.tiles[0]
    return tile.height // down, tile.width // across


def _grid(configuration: Any, laid: Laid, count: int) -> tuple[int, int]:
    size = grid_size(configuration, laid)
    if size is not None and 0 <= count - size[0] * size[1] <= MOST_EXTRA:
        return size
    tile = laid.tiles[0]
    for stride in STRIDES:
        rows, columns = -(-tile.height // stride), -(-tile.width // stride)
        if rows * columns == count:
            return rows, columns
    raise _unknown(configuration, count)


def _unknown(configuration: Any, count: int) -> BadInput:
    family = getattr(configuration, "model_type", "This model")
    return BadInput(
        f"{family} attends over {count} positions, which are not the patches of the whole picture "
        "(it pools them or looks through windows); use scope.capture to see its calls."
    )
