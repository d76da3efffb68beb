"""Read a picture: every position has its region of the picture."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headscope.capture.call import Call, Lazy
from headscope.errors import BadInput
from headscope.media.geometry import Laid, image_processor_of, lay
from headscope.media.patches import grid_size, tower_positions
from headscope.media.picture import Picture, open_picture
from headscope.reading.collecting.collector import Collector
from headscope.reading.describe import image_token
from headscope.reading.inputs.picture_text import reading_with_text
from headscope.reading.inputs.processors import (
    Asked,
    Whole,
    collected,
    moved,
    positioned_tokens,
    processor_of,
    rows_of,
    tensors_of,
)
from headscope.reading.reading import Reading
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading.scope import Scope


def picture_reading(scope: Scope, image: Any, text: str | None, asked: Asked) -> Reading:
    """Read a picture (or several), alone or with a text about it."""
    pictures = [open_picture(one) for one in _listed(image)]
    processor = image_processor_of(processor_of(scope, "pictures"))
    if processor is None:
        raise BadInput(f"The processor of {scope.name} takes no pictures.")
    laid = [lay(processor, picture) for picture in pictures]
    if image_token(scope.model.config) is not None:
        return reading_with_text(scope, text or "", pictures, laid, asked)
    if text is not None:
        raise BadInput(
            f"{scope.name} does not read text and pictures as one; read them apart: "
            "scope.read(text) and scope.read(image=picture)."
        )
    return _picture_alone(scope, processor, pictures, laid, asked)


def _listed(image: Any) -> Sequence[Any]:
    return image if isinstance(image, (list, tuple)) else [image]


def _picture_alone(
    scope: Scope, processor: Any, pictures: list[Picture], laid: list[Laid], asked: Asked
) -> Reading:
    if len(pictures) > 1:
        raise BadInput("This model reads one picture at a time; call scope.read for each.")
    inputs = moved(scope, tensors_of(processor(images=pictures[0].image(), return_tensors="pt")))
    windows = Windows(scope.model, grid_size(scope.model.config, laid[0]) or (0, 0))

    def read(whole: Whole) -> dict[str, Collector]:
        collector = asked.collector(whole)

        def sink(call: Call) -> None:
            if asked.layers is None or call.layer in asked.layers:
                call = windows(call)
                if rows_of(call) != 1:
                    raise BadInput(
                        f"{scope.name} attends within {rows_of(call)} separate windows, so no "
                        f"map covers the whole picture; use scope.capture to see its calls."
                    )
            collector(call)

        scope.forward(inputs, sink, lazy=True)
        return {"seen": collector}

    collector = collected(read)["seen"]
    keys = collector.sizes["encoder"][1]
    finest = windows.finest if windows.used else None
    of_keys = positioned_tokens(tower_positions(scope.model, laid[0], keys, grid=finest))
    of_queries = of_keys
    if "decoder" in collector.sizes:  # a detector's learned queries have no region
        count = collector.sizes["decoder"][0]
        of_queries = Tokens.plain([f"object {number}" for number in range(count)])
    (reading,) = collector.readings([of_queries], [of_keys], scope.name)
    if windows.used:
        parts = {
            kind: dataclasses.replace(part, why_no_qk=WHY_NO_QK)
            for kind, part in reading.parts.items()
        }
        reading = dataclasses.replace(reading, parts=parts)
    return dataclasses.replace(reading, pictures=tuple(pictures))


# Swin's windows put back into place: maps over the whole picture from maps inside windows.
#
# A layer cuts its grid of patches into windows, every second layer after shifting it by half a
# window; later stages merge blocks of patches. Here every layer is expanded to the patches of the
# finest layer: a block's weight is divided among its patches.

WHY_NO_QK = "Its windows were put back together, so only its weights can be read."


class Windows:
    """Turns calls inside windows into calls over the whole grid; other calls stay as they are."""

    def __init__(self, model: nn.Module, finest: tuple[int, int]) -> None:
        self._layers = _windowed_layers(model)
        self._first, self.finest = finest, (0, 0)  # rows and columns: of the model, of what is read

    @property
    def used(self) -> bool:
        return self.finest != (0, 0)

    def __call__(self, call: Call) -> Call:
        layer = self._layers.get(id(call.module))
        if layer is None:
            return call
        rows, columns = _grid(layer, call, self._first)
        if not self.used:  # stages only become coarser, so the first layer is the finest
            self.finest = rows, columns
        return dataclasses.replace(
            call, q=None, k=None, v=None, bias=None,
            lazy_mask=Lazy.of(None), given_mask=None, lazy_rows=None,
            lazy_weights=Lazy(lambda: self._whole(layer, call, rows, columns)),
        )  # fmt: skip

    def _whole(self, layer: Any, call: Call, rows: int, columns: int) -> Tensor:
        positions = window_positions(rows, columns, int(layer.window_size), int(layer.shift_size))
        inside = call.weights  # windows heads w² w²
        whole = inside.new_zeros(1, inside.shape[1], rows * columns, rows * columns)
        for window, where in enumerate(positions.to(inside.device)):
            whole[0, :, where[:, None], where[None, :]] = inside[window]
        return spread(whole, (rows, columns), self.finest)


def window_positions(rows: int, columns: int, side: int, shift: int) -> Tensor:
    """windows × side²: the grid index of each position of each window."""
    grid = torch.arange(rows * columns).reshape(rows, columns)
    grid = torch.roll(grid, (-shift, -shift), (0, 1))
    tiles = grid.reshape(rows // side, side, columns // side, side).transpose(1, 2)
    return tiles.reshape(-1, side * side)


def spread(weights: Tensor, size: tuple[int, int], finest: tuple[int, int]) -> Tensor:
    """1 h t s over `size` as over the patches of `finest`, each block's weight shared evenly."""
    if size == finest:
        return weights
    # merging pads an odd row or column, so that the last block may hold fewer patches
    row, column = (
        torch.arange(many) // -(-many // few) for many, few in zip(finest, size, strict=True)
    )
    block = (row[:, None] * size[1] + column[None, :]).reshape(-1).to(weights.device)
    count = torch.bincount(block, minlength=size[0] * size[1])
    shared = weights / count.clamp(min=1).to(weights.dtype)
    return shared[:, :, block[:, None], block[None, :]]


def _windowed_layers(model: nn.Module) -> Mapping[int, Any]:
    """Of every attention module inside a layer with windows, by its identity, that layer."""
    found: dict[int, Any] = {}
    for layer in model.modules():
        if hasattr(layer, "shift_size") and hasattr(layer, "window_size"):
            found |= {id(inner): layer for inner in layer.modules()}
    return found


def _grid(layer: Any, call: Call, first: tuple[int, int]) -> tuple[int, int]:
    """Rows and columns of a layer's patches: the finest halved until its windows fill them."""
    side, windows = int(layer.window_size), rows_of(call)
    rows, columns = first
    while rows * columns > windows * side * side and min(rows, columns) > 1:
        rows, columns = -(-rows // 2), -(-columns // 2)
    if rows % side or columns % side or rows * columns != windows * side * side:
        raise BadInput(
            f"The {rows} × {columns} patches of layer {call.layer} do not fill its windows of "
            f"{side} × {side}, so padding receives attention too; set the processor to a "
            f"picture size that the windows divide."
        )
    return rows, columns
