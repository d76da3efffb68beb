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
from headscope.figures.colour import INK, head_colours
from headscope.figures.frame import finish
from headscope.figures.sides import Sides, across, down
from headscope.figures.tokens import TokenLine

MOST_LINES = 20_000
FAINTEST = 0.004  # opacity below which a line leaves no ink


def head_lines(
    weights: NDArray[np.floating],  # h t s, the heads shown
    query: TokenLine,
    key: TokenLine,
    *,
    heads: Sequence[int],  # their numbers
    of_heads: int,  # heads of the layer: the colours follow the number, as on the page
    title: str,
    caption: str,
    pinned: int | None = None,  # only this query's lines, with each head's weight as a bar
    square_root: bool = False,
    minimum: float = 0.0,
    horizontal: bool = False,
    right_to_left: bool = False,
) -> Figure:
    """Opacity and width grow with the weight."""
    colours = [head_colours(of_heads)[head] for head in heads]
    chosen, said = _strongest(weights, minimum, pinned, square_root)
    with style.drawing():
        bars = 0 if pinned is None else len(heads)
        sides = across(query, key, right_to_left) if horizontal else down(query, key, bars)
        _lines(sides, chosen, weights, colours, square_root)
        if pinned is not None:
            _bars(sides, weights[:, pinned], colours, pinned)
        legend = [(f"head {head}", colour) for head, colour in zip(heads, colours, strict=True)]
        scale = "opacity is √weight" if square_root else "opacity is the weight"
        below = 0.30 if horizontal else 0.12
        finish(sides.figure, title, f"{caption}\n{said}; {scale}", legend, below, 0.22 * horizontal)
    return sides.figure


def _opacity(weights: NDArray[np.floating], square_root: bool) -> NDArray[np.floating]:
    return np.sqrt(weights) if square_root else weights


def _strongest(
    weights: NDArray[np.floating], minimum: float, pinned: int | None, square_root: bool
) -> tuple[NDArray[np.intp], str]:
    """(n, 3) head, query, key of the lines drawn, weakest first, and what was left out."""
    shown = np.where(weights >= minimum, weights, 0.0)
    if pinned is not None:
        only = np.zeros_like(shown)
        only[:, pinned] = shown[:, pinned]
        shown = only
    visible = np.argwhere(_opacity(shown, square_root) > FAINTEST)
    values = shown[tuple(visible.T)]
    order = np.argsort(values)[-MOST_LINES:]
    whole = weights if pinned is None else weights[:, pinned]
    share = float(values[order].sum() / whole.sum()) if whole.any() else 0.0
    return visible[order], f"{len(order):,} of {whole.size:,} lines, {share:.0%} of the mass"


def _lines(
    sides: Sides,
    chosen: NDArray[np.intp],
    weights: NDArray[np.floating],
    colours: Sequence[str],
    square_root: bool,
) -> None:
    strength = np.clip(_opacity(weights[tuple(chosen.T)], square_root), 0, 1)
    inks = np.array([to_rgb(colour) for colour in colours])
    rgba = np.concatenate([inks[chosen[:, 0]], strength[:, None]], axis=1)
    lines = np.stack([sides.query[chosen[:, 1]], sides.key[chosen[:, 2]]], axis=1)
    widths = (0.5 + 1.6 * strength).tolist()
    sides.axes.add_collection(
        LineCollection(lines.tolist(), colors=rgba.tolist(), linewidths=widths, capstyle="butt")
    )


def _bars(sides: Sides, weights: NDArray[np.floating], colours: Sequence[str], pinned: int) -> None:
    """Beside each key, one cell a head whose opacity is the pinned query's weight. weights: h s."""
    sides.axes.add_patch(
        Rectangle((-0.012, pinned - 0.42), 0.012, 0.84, color=INK, clip_on=False, lw=0)
    )
    if sides.bars is None:
        return
    cells = [Rectangle((head, key - 0.42), 0.88, 0.84) for head, key in np.ndindex(weights.shape)]
    inks = np.array([to_rgb(colour) for colour in colours])
    opacity = np.clip(weights, 0, 1)
    rgba = [(*inks[head], opacity[head, key]) for head, key in np.ndindex(weights.shape)]
    sides.bars.add_collection(PatchCollection(cells, facecolors=rgba, linewidths=0))
