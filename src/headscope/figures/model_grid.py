"""Every head's map as a small picture, layers down and heads across: the model view on paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import PowerNorm, to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headscope.figures import style
from headscope.figures.colour import RULE, head_colours, of_shade, sequential
from headscope.figures.fonts import drawable
from headscope.figures.frame import finish, text_width


@dataclass(frozen=True)
class Cell:
    """One head of a layer."""

    head: int
    map: NDArray[np.floating]  # r c, pooled weights
    label: str = ""
    faded: bool = False  # not among the matches


def model_grid(
    rows: Sequence[Sequence[Cell]],  # one per layer
    *,
    layers: Sequence[str],
    of_heads: int,  # heads of a layer: the colours follow the number, as on the page
    title: str,
    caption: str,
    as_lines: bool = False,
    numbered: bool = False,  # heads are in another order: each shows its number
) -> Figure:
    """Draw weights near 1 dark; the square root makes small weights visible, as the scale says."""
    count, columns = len(rows), max(map(len, rows))
    high, wide = rows[0][0].map.shape
    labelled = any(cell.label for row in rows for cell in row) or numbered
    cell_width = max(0.28, min(0.62, 7.0 / columns))
    under = 0.11 if labelled and cell_width >= 0.45 else 0.0  # inches for a label
    tall = cell_width * min(1.6, max(0.6, high / wide)) + under
    with style.drawing():
        figure = style.new_figure(columns * cell_width, count * tall)
        axes = figure.add_axes((0, 0, 1, 1))
        for at, row in enumerate(rows):
            for column, cell in enumerate(row):
                _draw_cell(axes, cell, column, at, under / tall, of_heads, as_lines)
                if under:
                    _name(axes, cell, column, at, numbered, cell_width)
        axes.set_xlim(0, columns)
        axes.set_ylim(count, 0)
        names = [""] * columns if numbered else [str(cell.head) for cell in max(rows, key=len)]
        axes.set_xticks(np.arange(columns) + 0.5, names)
        axes.set_yticks(np.arange(count) + 0.5, list(layers))
        axes.xaxis.set_ticks_position("top")
        axes.xaxis.set_label_position("top")
        axes.set_xlabel("strongest label first" if numbered else "head")
        axes.set_ylabel("layer")
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        if not as_lines:
            _scale(figure)
        finish(figure, title, caption, above=0.34)
    return figure


PAD = 0.06  # of a cell, on each side


def _draw_cell(
    axes: Axes, cell: Cell, column: int, row: int, under: float, of_heads: int, as_lines: bool
) -> None:
    left, right = column + PAD, column + 1 - PAD
    top, bottom = row + PAD, row + 1 - PAD - under
    faded = 0.18 if cell.faded else 1.0
    if as_lines:
        _draw_lines(axes, cell, (left, right, top, bottom), head_colours(of_heads)[cell.head])
    else:
        axes.imshow(
            cell.map, cmap=sequential(), norm=PowerNorm(0.5, 0.0, 1.0), aspect="auto",
            extent=(left, right, bottom, top), interpolation="nearest", alpha=faded,
        )  # fmt: skip
    axes.plot(
        [left, right, right, left, left],
        [top, top, bottom, bottom, top],
        color=of_shade(RULE),
        lw=0.5,
    )


def _draw_lines(
    axes: Axes, cell: Cell, box: tuple[float, float, float, float], colour: str
) -> None:
    """Queries left, keys right, the strongest lines of each level of weight."""
    left, right, top, bottom = box
    rows, columns = cell.map.shape
    positions = np.argwhere(cell.map >= 0.04)
    weights = cell.map[tuple(positions.T)]
    strongest = np.argsort(-weights, kind="stable")[:300]
    alpha = np.clip(weights[strongest], 0.16, 0.95) * (0.18 if cell.faded else 1.0)
    starts = top + (positions[strongest, 0] + 0.5) / rows * (bottom - top)
    ends = top + (positions[strongest, 1] + 0.5) / columns * (bottom - top)
    lines = [[(left, a), (right, b)] for a, b in zip(starts, ends, strict=True)]
    rgba = [(*to_rgb(colour), each) for each in alpha]
    axes.add_collection(LineCollection(lines, colors=rgba, linewidths=0.5))


def _name(axes: Axes, cell: Cell, column: int, row: int, numbered: bool, width: float) -> None:
    text = drawable(" ".join([str(cell.head)] * numbered + [cell.label]).strip())
    size = style.TINY - 1.4
    while text and text_width(text, size) > width * 0.98:
        text = text.rstrip("…")[:-1].rstrip() + "…" if len(text) > 2 else ""
    axes.text(column + PAD, row + 1 - PAD / 2, text, fontsize=size, va="bottom", parse_math=False)


def _scale(figure: Figure) -> None:
    width, height = figure.get_size_inches()
    tall = min(1.6, height)
    position = (1 + 0.12 / width, 1 - tall / height, 0.08 / width, tall / height)
    shades = ScalarMappable(PowerNorm(0.5, 0.0, 1.0), sequential())
    ticks = [0, 0.05, 0.25, 0.5, 1.0]
    bar = figure.colorbar(shades, cax=figure.add_axes(position), ticks=ticks)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    bar.ax.set_yticklabels(["0", ".05", ".25", ".5", "1"])
    bar.set_label("largest weight (square-root scale)")
