"""Sentences of an answer × the sources it may have been taken from, coloured by a number."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headscope.figures import style
from headscope.figures.colour import INK, PAPER, diverging, of_shade, sequential
from headscope.figures.fonts import drawable
from headscope.figures.frame import finish

CELL = 0.42  # inches
LINE = 34  # characters of a sentence in a line
NUMBERED = 24  # most sources for which cells show their number


def source_map(
    values: NDArray[np.floating],  # sentences × sources; NaN: not measured
    sentences: Sequence[str],
    sources: Sequence[str],
    *,
    title: str,
    caption: str,
) -> Figure:
    """Draw the map; the scale is centred on zero if values have both signs."""
    rows, columns = values.shape
    finite = values[np.isfinite(values)]
    reach = float(np.abs(finite).max()) if finite.size and finite.any() else 1.0
    signed = bool(finite.size and finite.min() < 0)
    cell = min(CELL, 9.0 / columns)
    with style.drawing():
        figure = style.new_figure(max(1.2, cell * columns), CELL * rows)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.imshow(
            np.ma.masked_invalid(values),
            cmap=diverging() if signed else sequential(),
            norm=Normalize(-reach if signed else 0.0, reach),
            aspect="auto",
            interpolation="nearest",
        )
        axes.set_yticks(range(rows), [drawable(_lines(one)) for one in sentences])
        step = max(1, columns // 40)
        names = [drawable(textwrap.shorten(one, 40, placeholder="…")) for one in sources[::step]]
        axes.set_xticks(
            range(0, columns, step), names, rotation=50, ha="left", rotation_mode="anchor"
        )
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        for row, column in np.ndindex(rows, columns) if columns <= NUMBERED else ():
            value = values[row, column]
            if np.isfinite(value):
                dark = abs(value) > 0.6 * reach
                axes.annotate(
                    f"{value:.2g}",
                    (column, row),
                    ha="center",
                    va="center",
                    fontsize=style.TINY,
                    color=of_shade(PAPER if dark else INK),
                )
        finish(figure, title, caption, above=1.1)
    return figure


def _lines(sentence: str) -> str:
    whole = textwrap.shorten(sentence, 2 * LINE, placeholder="…")
    return "\n".join(textwrap.wrap(whole, LINE))
