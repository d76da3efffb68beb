"""Read a text about pictures: its words, the picture tokens among them, and the tower."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from headscope.capture.call import Call
from headscope.errors import BadInput
from headscope.media.geometry import Laid, patches_of_tile
from headscope.media.patches import grid_size, tower_positions
from headscope.media.picture import Picture
from headscope.media.positions import PositionKind, Positions
from headscope.reading.collecting.collector import Collector
from headscope.reading.describe import image_token
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
from headscope.text.of_ids import tokens_of_ids
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading.scope import Scope


AMONG_QUERIES = "The attention of the model's learned queries among themselves is not in it."


def reading_with_text(
    scope: Scope, text: str, pictures: list[Picture], laid: list[Laid], asked: Asked
) -> Reading:
    if scope.encoder_decoder:
        raise BadInput(
            f"{scope.name} has an encoder and a decoder, whose text tokens cannot be "
            "told from picture tokens; use scope.read_inputs with names of your own."
        )
    tensors = inputs_with_text(scope, text, pictures)
    tokens = tokens_of_ids(scope.tokenizer, tensors["input_ids"][0].tolist())
    positions = positions_in_text(scope.model.config, tokens, laid)
    tokens = named_by_position(dataclasses.replace(tokens, positions=positions))
    left_out: list[str] = []

    def read(whole: Whole) -> dict[str, Collector]:
        left_out.clear()
        seen = _Seen(scope.model, asked, whole, len(pictures), left_out)
        scope.forward(moved(scope, tensors), seen, lazy=True)
        return {"language": seen.language, "tower": seen.tower, "across": seen.across}

    found = collected(read)
    parts = dict(found["language"].readings([tokens], [tokens], scope.name)[0].parts)
    if "encoder" in found["tower"].sizes and not any("tower" in one for one in left_out):
        count = found["tower"].sizes["encoder"][1]
        seen = positioned_tokens(tower_positions(scope.model, laid[0], count))
        parts |= found["tower"].readings([seen], [seen], scope.name)[0].parts
        if "cross" in found["across"].sizes:
            queries = np.full(found["across"].sizes["cross"][0], PositionKind.QUERY, np.int8)
            looking = positioned_tokens(Positions.nowhere(queries))
            parts |= found["across"].readings([looking], [seen], scope.name)[0].parts
    metadata: dict[str, Any] = {"left_out": left_out} if left_out else {}
    return Reading(parts, scope.name, metadata, pictures=tuple(pictures))


class _Seen:
    """A sink that separates the language model, the picture tower and learned queries."""

    def __init__(
        self, model: nn.Module, asked: Asked, whole: Whole, pictures: int, left_out: list[str]
    ) -> None:
        self.language, self.tower, self.across = (asked.collector(whole) for _ in range(3))
        self._pictures, self._left_out = pictures, left_out
        self._asking = {
            id(inner)
            for module in model.modules()
            if "qformer" in type(module).__name__.lower()
            for inner in module.modules()
        }

    def __call__(self, call: Call) -> None:
        if call.kind == "decoder":
            self.language(call)
        elif call.kind == "cross" and self._pictures == 1 and not self._without_tower():
            self.across(call)
        elif id(call.module) in self._asking:
            self._leave_out(AMONG_QUERIES)
        elif call.kind == "encoder" and not self._without_tower():
            self._see_tower(call)

    def _without_tower(self) -> bool:
        return any("tower" in one for one in self._left_out)

    def _leave_out(self, told: str) -> None:
        if told not in self._left_out:
            self._left_out.append(told)

    def _see_tower(self, call: Call) -> None:
        """Towers that read several pictures, tiles or windows apart are left out."""
        reason = "it looks through windows of different sizes"
        if self._pictures > 1:
            reason = f"it reads {self._pictures} pictures apart"
        elif rows_of(call) > 1:
            reason = f"it reads {rows_of(call)} tiles apart"
        else:
            try:
                self.tower(call)
                return
            except BadInput as error:
                if "positions" not in str(error):
                    raise
        self._leave_out(f"The picture tower's own attention is not in this reading: {reason}.")


def inputs_with_text(scope: Scope, text: str, pictures: list[Picture]) -> dict[str, Tensor]:
    processor = processor_of(scope, "pictures")
    told = _prompt(processor, text, len(pictures))
    images = [one.image() for one in pictures]
    try:
        return tensors_of(processor(text=told, images=images, return_tensors="pt"))
    except (ValueError, TypeError) as error:
        raise BadInput(
            f"The processor of {scope.name} refused this text with its pictures ({error})."
        ) from error


def _prompt(processor: Any, text: str, pictures: int) -> str:
    """The text with a position for each picture, as the processor's own template puts it."""
    if getattr(processor, "chat_template", None):
        content: list[dict[str, str]] = [{"type": "image"}] * pictures
        content.append({"type": "text", "text": text})
        turns = [{"role": "user", "content": content}]
        return str(processor.apply_chat_template(turns, add_generation_prompt=True))
    token = getattr(processor, "image_token", None) or ""
    return text if token and token in text else f"{token * pictures}{text}"


def named_by_position(tokens: Tokens) -> Tokens:
    """Name tokens for a piece of a picture by row and column."""
    assert tokens.positions is not None
    names = tokens.positions.names()
    labels = tuple(
        name if name and not name.startswith("[") else label
        for name, label in zip(names, tokens.labels, strict=True)
    )
    return dataclasses.replace(tokens, labels=labels)


# Which tokens of a text represent which part of a picture.

_LOOK_WITH_QUERIES = ("qformer_config", "perceiver_config")  # what stands for a picture is learned


def positions_in_text(configuration: Any, tokens: Tokens, laid: list[Laid]) -> Positions:
    """Positions of words and specials, and of picture tokens with their rectangles."""
    kinds = np.where(tokens.content, PositionKind.WORD, PositionKind.SPECIAL).astype(np.int8)
    positions = Positions.nowhere(kinds)
    marked = np.flatnonzero(tokens.ids == image_token(configuration))
    if not len(marked):
        return positions
    shares = _shares(laid, len(marked))
    start = 0
    for number, (one, count) in enumerate(zip(laid, shares, strict=True)):
        found = token_positions(configuration, one, count, number)
        _put(positions, marked[start : start + count], found)
        start += count
    return positions


def _shares(laid: list[Laid], total: int) -> list[int]:
    """How many tokens each picture has."""
    if len(laid) == 1:
        return [total]
    one_by_one = [len(one.rectangles) for one in laid if one.rectangles is not None]
    if len(one_by_one) == len(laid):
        whole = sum(one_by_one)
        return [count * total // whole for count in one_by_one]
    tiles = [len(one.tiles) for one in laid]
    if len(set(tiles)) > 1 and total % sum(tiles) == 0:
        return [count * total // sum(tiles) for count in tiles]
    if total % len(laid):
        raise BadInput(
            f"{total} picture tokens cannot be divided equally among {len(laid)} "
            "pictures; read one picture at a time."
        )
    return [total // len(laid)] * len(laid)


def token_positions(configuration: Any, laid: Laid, count: int, picture: int) -> Positions:
    """The `count` tokens of one picture: a patch each, a block of patches, or learned queries."""
    if laid.rectangles is not None and laid.grid is not None:
        return _merged(laid.rectangles, laid.grid, count, picture)
    queries = Positions.nowhere(np.full(count, PositionKind.QUERY, np.int8))
    size = grid_size(configuration, laid)
    if size is None or any(hasattr(configuration, name) for name in _LOOK_WITH_QUERIES):
        return queries
    rearranged = getattr(configuration, "image_grid_pinpoints", None) is not None
    each, rest = divmod(count, len(laid.tiles))
    pooled = None if rest or (rearranged and len(laid.tiles) > 1) else _pooled(size, each)
    if pooled is not None:  # one tile after another, each row by row
        made = [patches_of_tile(tile, *pooled) for tile in laid.tiles]
        return Positions.joined(*(Positions.patches(*one, picture) for one in made))
    if len(laid.tiles) == 1:
        return queries
    raise BadInput(
        f"The processor cuts this picture into {len(laid.tiles)} tiles, and the {count} tokens "
        "that represent them cannot be located; give a smaller picture, or switch tiling off in "
        "the processor."
    )


def _pooled(size: tuple[int, int], count: int) -> tuple[int, int] | None:
    """Rows and columns of the tokens of one tile, whose blocks of patches became one each."""
    for side in range(1, min(size) + 1):
        if (size[0] // side) * (size[1] // side) == count:
            return size[0] // side, size[1] // side
    return None


def _merged(
    rectangles: NDArray[np.float32], grid: NDArray[np.int32], count: int, picture: int
) -> Positions:
    """Rectangles of tokens that merge neighbouring patches."""
    together = len(rectangles) // count if count else 0
    if not together or together * count != len(rectangles):
        raise BadInput(
            f"{len(rectangles)} patches cannot be divided equally among {count} picture "
            "tokens; give a smaller picture."
        )
    blocks = rectangles.reshape(count, together, 4)
    joined = np.concatenate([blocks[:, :, :2].min(axis=1), blocks[:, :, 2:].max(axis=1)], axis=1)
    corners = grid.reshape(count, together, 2).min(axis=1)
    side = max(1, round(together**0.5))
    return Positions.patches(joined, corners // side, picture)


def _put(positions: Positions, where: NDArray[np.intp], found: Positions) -> None:
    positions.kinds[where] = found.kinds
    positions.rectangles[where] = found.rectangles
    positions.pictures[where] = found.pictures
    positions.grid[where] = found.grid


# The smallest inputs of a model that reads pictures and text as one: only its processor knows.

SIDE = 224  # pixels; more than one window for models that look through windows


def trial_with_picture(scope: Scope) -> dict[str, Tensor] | None:
    """A grey picture and no words; None where there is no processor."""
    grey = Picture(np.full((SIDE, SIDE, 3), 127, np.uint8))
    try:
        return moved(scope, inputs_with_text(scope, "", [grey]))
    except BadInput:
        return None
