"""Lines from queries to keys, a colour for every head: the head view on paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from headscope.figures import style
from headscope.figures.colour import INK, head_colours, of_shade
from headscope.figures.frame import finish
from headscope.figures.lines import Lines
from headscope.figures.sides import Sides, across, down
from headscope.figures.tokens import TokenLine, label_step, ordinal


def head_lines(
    weights: NDArray[np.floating],  # h t s, the heads shown
    query: TokenLine,
    key: TokenLine,
    *,
    heads: Sequence[int],  # their numbers
    of_heads: int,  # heads of the layer: the colours follow the number, as on the page
    title: str,
    caption: str,
    lines: Lines,
    pinned: tuple[int | None, int | None] = (None, None),  # query, key
    square_root: bool = False,
    horizontal: bool = False,
    right_to_left: bool = False,
) -> Figure:
    """Opacity and width grow with the weight; a token in hand gets each head's weight as a bar."""
    colours = [head_colours(of_heads)[head] for head in heads]
    in_hand = "query" if pinned[0] is not None else "key" if pinned[1] is not None else None
    with style.drawing():
        bars = 0 if in_hand is None else len(heads)
        sides = (
            across(query, key, right_to_left)
            if horizontal
            else down(query, key, bars, bars_left=in_hand == "key", mirrored=right_to_left)
        )
        _lines(sides, lines, colours, square_root)
        if in_hand is not None:
            _mark(sides, pinned)
            row = weights[:, pinned[0]] if in_hand == "query" else weights[:, :, pinned[1]]
            _bars(sides, row, colours)
        legend = [(f"head {head}", colour) for head, colour in zip(heads, colours, strict=True)]
        scale = "opacity is √weight" if square_root else "opacity is the weight"
        below = 0.30 if horizontal else 0.12
        step = 1 if horizontal else label_step(max(len(query), len(key)))
        named = f"; every {ordinal(step)} token is named" if step > 1 else ""
        said = f"{caption}\n{lines.said()}; {scale}{named}"
        finish(sides.figure, title, said, legend, below, 0.22 * horizontal)
    return sides.figure


def _lines(sides: Sides, lines: Lines, colours: Sequence[str], square_root: bool) -> None:
    weights = np.sqrt(lines.weights) if square_root else lines.weights
    strength = np.clip(weights, 0, 1)
    inks = np.array([to_rgb(colour) for colour in colours]).reshape(-1, 3)
    head, query, key = lines.places.T
    rgba = np.concatenate([inks[head], strength[:, None]], axis=1)
    ends = np.stack([sides.query[query], sides.key[key]], axis=1)
    widths = (0.5 + 1.6 * strength).tolist()
    sides.axes.add_collection(
        LineCollection(ends.tolist(), colors=rgba.tolist(), linewidths=widths, capstyle="butt")
    )


def _mark(sides: Sides, pinned: tuple[int | None, int | None]) -> None:
    """A small bar where the lines of what is in hand start or end."""
    for ends, at in zip((sides.query, sides.key), pinned, strict=True):
        if at is None:
            continue
        x, y = ends[at]
        if sides.horizontal:
            box = Rectangle((x - 0.12, y - (0.03 if y < 0.5 else 0.0)), 0.24, 0.03)
        else:
            box = Rectangle((x - (0.012 if x < 0.5 else 0.0), y - 0.42), 0.012, 0.84)
        box.set(color=of_shade(INK), clip_on=False, lw=0)
        sides.axes.add_patch(box)


def _bars(sides: Sides, weights: NDArray[np.floating], colours: Sequence[str]) -> None:
    """Beside each token, one cell a head whose opacity is its weight. weights: h n."""
    if sides.bars is None:
        return
    cells = [Rectangle((head, at - 0.42), 0.88, 0.84) for head, at in np.ndindex(weights.shape)]
    inks = np.array([to_rgb(colour) for colour in colours])
    opacity = np.clip(weights, 0, 1)
    rgba = [(*inks[head], opacity[head, at]) for head, at in np.ndindex(weights.shape)]
    sides.bars.add_collection(PatchCollection(cells, facecolors=rgba, linewidths=0))
