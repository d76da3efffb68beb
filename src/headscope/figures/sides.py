"""Where queries and keys stand: one under the other on two sides, or along two lines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headscope.figures import style, tokens
from headscope.figures.colour import INK, QUIET, of_shade
from headscope.figures.frame import text_width
from headscope.figures.tokens import TokenLine

BETWEEN = 1.7  # inches between the two sides
BAR = 0.10  # inches of one head's bar
GAP = 5 / 72  # inches between a token and its lines


@dataclass(frozen=True)
class Sides:
    figure: Figure
    axes: Axes
    query: NDArray[np.floating]  # t 2, where a query's lines start
    key: NDArray[np.floating]  # s 2, where they end
    bars: Axes | None = None  # beside the keys or queries, heads across (vertical only)
    horizontal: bool = False


def down(
    query: TokenLine,
    key: TokenLine,
    bars: int = 0,
    *,
    bars_left: bool = False,
    mirrored: bool = False,
) -> Sides:
    """Queries left, keys right (mirrored: the other way), read downwards; room for so many bars
    beside one side: the keys', or, where a key is in hand, the queries'."""
    rows = max(len(query), len(key))
    size, step = tokens.font_size(rows), tokens.label_step(rows)
    first, second = (key, query) if mirrored else (query, key)
    row = tokens.row_height(rows)
    left = max(text_width(label, size) for label in first.labels[::step]) + 2 * GAP
    left += tokens.crop_size(first, row)
    right = max(text_width(label, size) for label in second.labels[::step]) + 2 * GAP
    right += tokens.crop_size(second, row)
    beside = bars * BAR
    before = beside if bars_left != mirrored else 0.0
    width = left + BETWEEN + right + beside
    figure = style.new_figure(width, row * rows)
    axes = figure.add_axes(((before + left) / width, 0.0, BETWEEN / width, 1.0))
    axes.set_xlim(0, 1)
    axes.set_ylim(rows - 0.5, -0.5)
    style.bare(axes)
    tokens.column(axes, first, 0.0, "left", size)
    tokens.column(axes, second, 1.0, "right", size)
    starts = np.stack([np.full(len(query), float(mirrored)), np.arange(float(len(query)))], axis=1)
    ends = np.stack([np.full(len(key), float(not mirrored)), np.arange(float(len(key)))], axis=1)
    bar_axes = None
    if bars:
        at = 0.0 if before else 1 - beside / width
        bar_axes = figure.add_axes((at, 0.0, beside / width, 1.0), sharey=axes)
        bar_axes.set_xlim(0, bars)
        style.bare(bar_axes)
    return Sides(figure, axes, starts, ends, bar_axes)


def across(query: TokenLine, key: TokenLine, right_to_left: bool) -> Sides:
    """Queries above, keys below, along the line: for Chinese, Japanese, and right-to-left text."""
    size = style.BODY + 1
    above, below = _along(query, size, right_to_left), _along(key, size, right_to_left)
    width = max(above[1], below[1])
    figure = style.new_figure(width, BETWEEN)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0, width)
    axes.set_ylim(1, 0)
    style.bare(axes)
    for line, places, y, toward in ((query, above[0], 0.0, 1), (key, below[0], 1.0, -1)):
        for at, label in enumerate(line.labels):
            special = line.special(at)
            axes.annotate(
                label,
                (places[at], y),
                xytext=(0, toward * 4),
                textcoords="offset points",
                ha="center",
                va="bottom" if toward > 0 else "top",
                fontsize=size * (0.8 if special else 1.0),
                color=of_shade(QUIET) if special else of_shade(INK),
                parse_math=False,
                annotation_clip=False,
            )
    starts = np.stack([above[0], np.zeros(len(query))], axis=1)
    ends = np.stack([below[0], np.ones(len(key))], axis=1)
    return Sides(figure, axes, starts, ends, horizontal=True)


def _along(line: TokenLine, size: float, right_to_left: bool) -> tuple[NDArray[np.floating], float]:
    """Middle of each token in inches, and the length of the line."""
    widths = np.array([text_width(label, size) + 0.10 for label in line.labels])
    ends = np.cumsum(widths)
    middles = ends - widths / 2
    total = float(ends[-1])
    return (total - middles if right_to_left else middles), total
