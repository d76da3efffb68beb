"""Which tokens of a text stand for a picture, and for which part of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.media.picture_inputs import Laid, patches_of_tile
from headscope.media.places import PlaceKind, Places
from headscope.reading.describe import IMAGE_TOKENS
from headscope.reading.media.tower import grid_size
from headscope.text.tokens import Tokens

_LOOK_WITH_QUERIES = ("qformer_config", "perceiver_config")  # what stands for a picture is learned


def image_token(configuration: Any) -> int | None:
    """The id that marks a place for a piece of a picture, or None for models without."""
    for name in IMAGE_TOKENS:
        number = getattr(configuration, name, None)
        if isinstance(number, int):
            return number
    return None


def places_in_text(configuration: Any, tokens: Tokens, laid: list[Laid]) -> Places:
    """Words and specials as they are; tokens that stand for pictures with their rectangles."""
    kinds = np.where(tokens.content, PlaceKind.WORD, PlaceKind.SPECIAL).astype(np.int8)
    places = Places.nowhere(kinds)
    marked = np.flatnonzero(tokens.ids == image_token(configuration))
    if not len(marked):
        return places
    shares = _shares(laid, len(marked))
    start = 0
    for number, (one, count) in enumerate(zip(laid, shares, strict=True)):
        found = token_places(configuration, one, count, number)
        _put(places, marked[start : start + count], found)
        start += count
    return places


def _shares(laid: list[Laid], total: int) -> list[int]:
    """How many tokens stand for each picture."""
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
            f"{total} tokens stand for {len(laid)} pictures, which does not come out even; "
            "read one picture at a time."
        )
    return [total // len(laid)] * len(laid)


def token_places(configuration: Any, laid: Laid, count: int, picture: int) -> Places:
    """The `count` tokens of one picture: a patch each, a block of patches, or learned queries."""
    if laid.rectangles is not None and laid.grid is not None:
        return _merged(laid.rectangles, laid.grid, count, picture)
    queries = Places.nowhere(np.full(count, PlaceKind.QUERY, np.int8))
    size = grid_size(configuration, laid)
    if size is None or any(hasattr(configuration, name) for name in _LOOK_WITH_QUERIES):
        return queries
    rearranged = getattr(configuration, "image_grid_pinpoints", None) is not None
    each, rest = divmod(count, len(laid.tiles))
    pooled = None if rest or (rearranged and len(laid.tiles) > 1) else _pooled(size, each)
    if pooled is not None:  # one tile after another, each row by row
        made = [patches_of_tile(tile, *pooled) for tile in laid.tiles]
        return Places.joined(*(Places.patches(*one, picture) for one in made))
    if len(laid.tiles) == 1:
        return queries
    raise BadInput(
        f"The processor cuts this picture into {len(laid.tiles)} tiles, and the {count} tokens "
        "that stand for them cannot be placed; give a smaller picture, or switch tiling off in "
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
) -> Places:
    """Neighbouring patches that became one token follow one another."""
    together = len(rectangles) // count if count else 0
    if not together or together * count != len(rectangles):
        raise BadInput(
            f"{count} tokens stand for {len(rectangles)} patches, which does not come out even."
        )
    blocks = rectangles.reshape(count, together, 4)
    joined = np.concatenate([blocks[:, :, :2].min(axis=1), blocks[:, :, 2:].max(axis=1)], axis=1)
    corners = grid.reshape(count, together, 2).min(axis=1)
    side = max(1, round(together**0.5))
    return Places.patches(joined, corners // side, picture)


def _put(places: Places, where: NDArray[np.intp], found: Places) -> None:
    places.kinds[where] = found.kinds
    places.rectangles[where] = found.rectangles
    places.pictures[where] = found.pictures
    places.grid[where] = found.grid
