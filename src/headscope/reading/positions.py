"""Names for positions that are no words: patches of a picture, frames of a sound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headscope.errors import BadInput
from headscope.text.tokens import Tokens


def names_of_positions(
    configuration: Any, given: Sequence[str] | Tokens | None, count: int
) -> Tokens:
    """The names the caller gave, or row and column for patches, or plain numbers.

    Which unnamed positions hold the same thing is not known, so their ids stay undefined.
    """
    if given is None:
        names = _patches(configuration, count) or [str(one) for one in range(count)]
        named = Tokens.plain(names).with_ids([-1] * count)
    else:
        named = given if isinstance(given, Tokens) else Tokens.plain(list(given))
    if len(named) != count:
        raise BadInput(
            f"There are {len(named)} token names, but the model reads {count} positions."
        )
    return named


def _patches(configuration: Any, count: int) -> list[str] | None:
    """Special positions first, then patches row by row; None when that does not add up."""
    configuration = getattr(configuration, "vision_config", configuration)
    image = _pair(getattr(configuration, "image_size", None))
    patch = _pair(getattr(configuration, "patch_size", None))
    if image is None or patch is None:
        return None
    rows, columns = image[0] // patch[0], image[1] // patch[1]
    specials = count - rows * columns
    if not 0 <= specials <= 8:  # a class token, a distillation token, a few registers
        return None
    names = ["[CLS]", *(f"[EXTRA{number}]" for number in range(1, specials))][:specials]
    return names + [f"{row},{column}" for row in range(rows) for column in range(columns)]


def _pair(size: Any) -> tuple[int, int] | None:
    if isinstance(size, int):
        return size, size
    if isinstance(size, (list, tuple)) and len(size) == 2:
        return int(size[0]), int(size[1])
    return None
