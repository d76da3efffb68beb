"""The tokens of a side on paper, patches with their piece of the picture."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headscope.figures.media.crops import crop

if TYPE_CHECKING:
    from headscope.figures.tokens import TokenLine
    from headscope.reading import Reading
    from headscope.text.tokens import Tokens
    from headscope.views.selection import Side


def with_crops(side: Side, tokens: Tokens, reading: Reading) -> TokenLine:
    """The side's line as it is where nothing was seen."""
    positions = tokens.positions
    if positions is None or not reading.pictures:
        return side.line
    return replace(
        side.line,
        crops=[
            crop(reading.pictures[which].pixels, positions.rectangles[at]) if which >= 0 else None
            for at, which in zip(side.starts, positions.pictures[side.starts], strict=True)
        ],
    )
