"""A score as writers of the query × writers of the key: a map, with each side's bars beside it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headscope.figures import style
from headscope.figures.colour import NEGATIVE, POSITIVE, QUIET, RULE, diverging, of_shade
from headscope.figures.fonts import drawable
from headscope.figures.frame import finish

CELL, BARS, GAP = 0.24, 0.9, 0.1  # inches


def writer_pairs(
    parts: NDArray[np.floating],  # query's writers × key's writers
    query: Sequence[str],
    key: Sequence[str],
    sums: tuple[NDArray[np.floating], NDArray[np.floating]],  # of each side, others included
    *,
    title: str,
    caption: str = "",
) -> Figure:
    """`query` and `key` name the rows and columns; `sums` are the bars beside and over them."""
    rows, columns = parts.shape
    width, height = CELL * columns + GAP + BARS, CELL * rows + GAP + BARS
    with style.drawing():
        figure = style.new_figure(width, height)
        across, down = CELL * columns / width, CELL * rows / height
        cells = figure.add_axes((0, 0, across, down))
        reach = float(np.abs(parts).max()) or 1.0
        cells.imshow(parts, cmap=diverging(), norm=Normalize(-reach, reach), aspect="auto")
        cells.set_xticks(range(columns), [drawable(one) for one in key], rotation=90)
        cells.set_yticks(range(rows), [drawable(one) for one in query])
        cells.tick_params(length=0, labelsize=style.SMALL)
        cells.set_xlabel("written into the key by")
        cells.set_ylabel("written into the query by")
        for spine in cells.spines.values():
            spine.set(visible=True, color=of_shade(RULE), linewidth=0.6)
        above = figure.add_axes((0, down + GAP / height, across, BARS / height), sharex=cells)
        beside = figure.add_axes((across + GAP / width, 0, BARS / width, down), sharey=cells)
        above.bar(range(columns), sums[1], color=_colours(sums[1]), width=0.7)
        above.axhline(0, color=of_shade(QUIET), linewidth=0.6)
        beside.barh(range(rows), sums[0], color=_colours(sums[0]), height=0.7)
        beside.axvline(0, color=of_shade(QUIET), linewidth=0.6)
        for axes in (above, beside):
            _plain(axes)
        above.tick_params("x", labelbottom=False)
        beside.tick_params("y", labelleft=False)
        finish(figure, title, caption, below=0.9)
    return figure


def _colours(values: NDArray[np.floating]) -> list[str]:
    return [POSITIVE if value >= 0 else NEGATIVE for value in values]


def _plain(axes: Axes) -> None:
    axes.tick_params(length=0, labelsize=style.TINY)
    for spine in axes.spines.values():
        spine.set_visible(False)
