"""The positions of a vision tower: patches in their grid, class and register tokens."""

from __future__ import annotations

from typing import Any

import numpy as np

from headscope.errors import BadInput
from headscope.media.geometry import Laid, centred_cells, patches_of_tile
from headscope.media.positions import PositionKind, Positions

STRIDES = (32, 16, 64, 8)  # of the feature maps that detectors attend over
MOST_EXTRA = 16  # class, distillation and register tokens


def tower_positions(
    model: Any,
    laid: Laid,
    count: int,
    grid: tuple[int, int] | None = None,
) -> Positions:
    """The `count` positions of a tower over one tile.

    `grid` are rows and columns of patches where they are known.
    """
    configuration = model.config
    if laid.rectangles is not None and laid.grid is not None:
        if len(laid.rectangles) != count:
            raise _unknown(configuration, count)
        return Positions.patches(laid.rectangles, laid.grid)
    size = grid or _by_patch_size(configuration, laid, count)
    if size is None:
        return _cells(model, laid, count)
    rows, columns = size
    rectangles, numbers = patches_of_tile(laid.tiles[0], rows, columns)
    extra = extra_positions(configuration, count - rows * columns)
    return Positions.joined(extra, Positions.patches(rectangles, numbers))


def extra_positions(configuration: Any, count: int) -> Positions:
    """The class token, then other tokens before the patches: registers, a second class."""
    vision = getattr(configuration, "vision_config", configuration)
    registers = min(int(getattr(vision, "num_register_tokens", 0) or 0), max(count - 1, 0))
    kinds = np.full(count, PositionKind.SPECIAL, np.int8)
    kinds[:1] = PositionKind.CLASS
    kinds[1 : 1 + registers] = PositionKind.REGISTER
    return Positions.nowhere(kinds)


def grid_size(configuration: Any, laid: Laid) -> tuple[int, int] | None:
    """Rows and columns of patches by the model's patch size, where it has one."""
    vision = getattr(configuration, "vision_config", configuration)
    patch = getattr(vision, "patch_size", None)
    if patch is None or not laid.tiles:
        return None
    down, across = (patch, patch) if isinstance(patch, int) else (int(patch[0]), int(patch[1]))
    tile = laid.tiles[0]
    return tile.height // down, tile.width // across


def _by_patch_size(configuration: Any, laid: Laid, count: int) -> tuple[int, int] | None:
    size = grid_size(configuration, laid)
    known = size is not None and 0 <= count - size[0] * size[1] <= MOST_EXTRA
    return size if known else None


def _cells(model: Any, laid: Laid, count: int) -> Positions:
    """The cells of a feature map that convolutions made of the picture, for detectors."""
    tile = laid.tiles[0]
    for stride in STRIDES:
        rows, columns = -(-tile.height // stride), -(-tile.width // stride)
        if rows * columns == count:
            if _steps_with_odd_kernels(model):
                found = centred_cells(tile, rows, columns, stride)
            else:
                found = patches_of_tile(tile, rows, columns)
            return Positions.patches(*found)
    raise _unknown(model.config, count)


def _steps_with_odd_kernels(model: Any) -> bool:
    """Whether convolutions are centred on the first pixel of each step, like a ResNet's."""
    from torch import nn

    steps = [one for one in model.modules() if isinstance(one, nn.Conv2d) and one.stride[0] > 1]
    return any(one.kernel_size[0] > 1 and one.kernel_size[0] % 2 == 1 for one in steps)


def _unknown(configuration: Any, count: int) -> BadInput:
    family = getattr(configuration, "model_type", "This model")
    return BadInput(
        f"{family} attends over {count} positions, which are not the patches of the whole picture "
        "(it pools them or looks through windows); use scope.capture to see its calls."
    )
