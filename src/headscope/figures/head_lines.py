"""Lines from queries to keys, a colour per head: the head view on paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from headscope.figures import style, tokens
from headscope.figures.colour import INK, QUIET, head_colours, of_shade
from headscope.figures.frame import finish, text_width
from headscope.figures.lines import Lines
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
    gold: Sequence[tuple[int, int]] = (),  # arcs of an annotation: query, key
) -> Figure:
    """Opacity and width grow with the weight; a selected token gets each head's weight as a bar."""
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
        if gold:
            _gold(sides, gold)
        if in_hand is not None:
            _mark(sides, pinned)
            row = weights[:, pinned[0]] if in_hand == "query" else weights[:, :, pinned[1]]
            _bars(sides, row, colours)
        legend = [(f"head {head}", colour) for head, colour in zip(heads, colours, strict=True)]
        legend += [("gold arc, dashed", of_shade(INK))] if gold else []
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
    head, query, key = lines.positions.T
    rgba = np.concatenate([inks[head], strength[:, None]], axis=1)
    ends = np.stack([sides.query[query], sides.key[key]], axis=1)
    widths = (0.5 + 1.6 * strength).tolist()
    sides.axes.add_collection(
        LineCollection(ends.tolist(), colors=rgba.tolist(), linewidths=widths, capstyle="butt")
    )


def _gold(sides: Sides, arcs: Sequence[tuple[int, int]]) -> None:
    ends = [[sides.query[query].tolist(), sides.key[key].tolist()] for query, key in arcs]
    dashes = (0, (3, 2))
    sides.axes.add_collection(
        LineCollection(ends, colors=of_shade(INK), linewidths=1.1, linestyles=[dashes], gid="gold")
    )


def _mark(sides: Sides, pinned: tuple[int | None, int | None]) -> None:
    """A small bar where the selected token's lines start or end."""
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
    """Beside each token, one cell per head whose opacity is its weight. weights: h n."""
    if sides.bars is None:
        return
    cells = [Rectangle((head, at - 0.42), 0.88, 0.84) for head, at in np.ndindex(weights.shape)]
    inks = np.array([to_rgb(colour) for colour in colours])
    opacity = np.clip(weights, 0, 1)
    rgba = [(*inks[head], opacity[head, at]) for head, at in np.ndindex(weights.shape)]
    sides.bars.add_collection(PatchCollection(cells, facecolors=rgba, linewidths=0))


# Positions of queries and keys: one below the other on two sides, or along two lines.

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
    """Queries left, keys right (mirrored: the other way), read downwards; with room for bars beside
    the keys, or beside the queries if a key is selected."""
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
    for line, positions, y, toward in ((query, above[0], 0.0, 1), (key, below[0], 1.0, -1)):
        for at, label in enumerate(line.labels):
            special = line.special(at)
            axes.annotate(
                label,
                (positions[at], y),
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
    """The middle of each token in inches, and the length of the line."""
    widths = np.array([text_width(label, size) + 0.10 for label in line.labels])
    ends = np.cumsum(widths)
    middles = ends - widths / 2
    total = float(ends[-1])
    return (total - middles if right_to_left else middles), total
