"""One head's map with tokens on both axes, or the difference of two."""

from __future__ import annotations

from math import ceil

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from headscope.figures import style
from headscope.figures.colour import (
    INK,
    PAPER,
    POSITIVE,
    QUIET,
    RULE,
    diverging,
    of_shade,
    sequential,
)
from headscope.figures.frame import finish, text_width
from headscope.figures.tokens import GAP, TokenLine, crop_size, strip_beside

MOST_CELLS = 1000  # along a side: more cannot be seen, and a picture of all would take gigabytes
WIDEST = 12.0  # inches of a larger map


def matrix(
    weights: NDArray[np.floating],  # t s
    query: TokenLine,
    key: TokenLine,
    *,
    title: str,
    caption: str,
    difference: bool = False,
    square_root: bool = False,  # how the colour follows the weight
    largest: float = 0.0,  # least end of the colours, if two maps share a scale
    pinned: tuple[int | None, int | None] = (None, None),  # the query's row, the key's column
) -> Figure:
    queries, keys = weights.shape
    most = max(queries, keys)
    cell = 0.19 if most <= 40 else max(min(0.012, WIDEST / most), min(0.13, 8.0 / most))
    cells, joined = strongest_of_blocks(weights)
    across, down = _cells(queries, keys, cell)
    width, height = across * keys, down * queries
    with style.drawing():
        figure = style.new_figure(width, height)
        axes = figure.add_axes((0, 0, 1, 1))
        reach = max(largest, float(np.abs(weights).max())) or 1.0
        image = axes.imshow(
            cells,
            extent=(-0.5, cells.shape[1] * joined[1] - 0.5, cells.shape[0] * joined[0] - 0.5, -0.5),
            cmap=diverging() if difference else sequential(),
            norm=Normalize(-reach, reach)
            if difference
            else PowerNorm(0.5 if square_root else 1.0, 0.0, reach),
            aspect="auto",
            interpolation="nearest",
        )
        axes.set_xlim(-0.5, keys - 0.5)
        axes.set_ylim(queries - 0.5, -0.5)
        axes.xaxis.tick_top()
        steps = _label_step(keys, across), _label_step(queries, down)
        size = min(style.SMALL, across * steps[0] * 72 * 0.85, down * steps[1] * 72 * 0.85)
        crops = _crops(axes, query, key, cell)
        _label(axes, "x", key, steps[0], size)
        _label(axes, "y", query, steps[1], size)
        axes.set_ylabel("query")
        axes.xaxis.set_label_position("top")
        axes.set_xlabel("key")
        axes.tick_params(length=0)
        axes.tick_params("x", pad=2 + 72 * crops[1])
        axes.tick_params("y", pad=2 + 72 * crops[0])
        for spine in axes.spines.values():  # a frame, so that empty cells at the edge are visible
            spine.set(visible=True, color=of_shade(RULE), linewidth=0.6)
        _frame(axes, pinned, weights.shape)
        if steps == (1, 1) and cell >= 0.12:
            axes.set_xticks(np.arange(0.5, keys - 1), minor=True)
            axes.set_yticks(np.arange(0.5, queries - 1), minor=True)
            axes.grid(which="minor", color=of_shade(PAPER), linewidth=0.4)
            axes.tick_params(which="minor", length=0)
        scale = "weight (square-root scale)" if square_root else "weight"
        _legend(figure, image, (width, height), "difference of weights" if difference else scale)
        above = max(text_width(label, size) for label in key.labels) + 0.25 + crops[1]
        finish(figure, title, caption + _said(joined), above=above)
    return figure


def strongest_of_blocks(
    weights: NDArray[np.floating],  # t s
) -> tuple[NDArray[np.floating], tuple[int, int]]:
    """Visible cells: the value farthest from zero in every block of queries and keys."""
    down, across = (max(1, ceil(count / MOST_CELLS)) for count in weights.shape)
    if down == across == 1:
        return weights, (1, 1)
    rows, columns = np.arange(0, weights.shape[0], down), np.arange(0, weights.shape[1], across)
    most, least = (
        one.reduceat(one.reduceat(weights, rows, axis=0), columns, axis=1)
        for one in (np.maximum, np.minimum)
    )
    return np.where(most >= -least, most, least), (down, across)


def _legend(figure: Figure, image: AxesImage, size: tuple[float, float], says: str) -> None:
    """The colour scale beside the map; `size` is the map's, in inches."""
    width, height = size
    tall = min(1.6, height)
    beside = figure.add_axes((1 + 0.12 / width, 1 - tall / height, 0.08 / width, tall / height))
    bar = figure.colorbar(image, cax=beside)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    bar.set_label(says)


def _said(joined: tuple[int, int]) -> str:
    return "" if joined == (1, 1) else f"\na cell: the largest of {joined[0]} × {joined[1]} weights"


def _crops(axes: Axes, query: TokenLine, key: TokenLine, cell: float) -> tuple[float, float]:
    """Draw patches between names and map; returns the inches used at the left and above."""
    taken: list[float] = []
    for tokens, side in ((query, "left"), (key, "top")):
        size = crop_size(tokens, min(cell, 0.19))
        if size:
            strip_beside(axes, tokens.crops, side, size)
        taken.append(size + GAP if size else 0.0)
    return taken[0], taken[1]


def _frame(axes: Axes, pinned: tuple[int | None, int | None], shape: tuple[int, ...]) -> None:
    """Mark the selection as the page does: the query's row, the key's column."""
    query, key = pinned
    boxes: list[tuple[float, float, int, int]] = []
    if query is not None:
        boxes.append((-0.5, query - 0.5, shape[1], 1))
    if key is not None:
        boxes.append((key - 0.5, -0.5, 1, shape[0]))
    for x, y, wide, high in boxes:
        axes.add_patch(
            Rectangle((x, y), wide, high, fill=False, lw=0.8, color=of_shade(POSITIVE), zorder=4)
        )


def _cells(queries: int, keys: int, cell: float) -> tuple[float, float]:
    """Inches of a cell across and down: square, except in a map that would be a thin strip."""
    if max(queries, keys) <= 4 * min(queries, keys):
        return cell, cell
    wide = max(cell, min(0.13, WIDEST / min(queries, keys)))
    return (cell, wide) if keys > queries else (wide, cell)


def _label_step(count: int, cell: float) -> int:
    """Label every token if letters of five points fit, else every n-th."""
    return next(
        step
        for step in (2**power for power in range(32))
        if step * cell * 72 >= 5.5 or step >= count
    )


def _label(axes: Axes, side: str, tokens: TokenLine, step: int, size: float) -> None:
    positions = range(0, len(tokens), step)
    axis = axes.xaxis if side == "x" else axes.yaxis
    axis.set_ticks(list(positions), [tokens.labels[at] for at in positions])
    for at, text in zip(positions, axis.get_ticklabels(), strict=True):
        text.set_parse_math(False)
        text.set_fontsize(size)
        text.set_color(of_shade(QUIET) if tokens.special(at) else of_shade(INK))
        if side == "x":
            text.set_rotation(90)
