"""Heads as dots in a plane, coloured by a number: which heads are alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from headscope.figures import colour, style
from headscope.figures.fonts import drawable

MOST_NAMED = 160  # dots; more names than that would be a blot
PALEST = 0.18  # of the colour scale: the first colour is the paper's own


def head_scatter(
    positions: NDArray[np.floating],  # n 2
    values: NDArray[np.floating],  # n
    label: str,
    *,
    title: str | None = None,
    names: Sequence[str] = (),  # of each head
    whole: bool = False,  # the values are whole numbers, and so are the scale's
    size: float = 3.8,
) -> Figure:
    """One dot per head; the plane has no axes, only distances."""
    shades = ListedColormap(colour.sequential()(np.linspace(PALEST, 1, 256)))
    with style.drawing():
        figure = style.new_figure(size + 0.6, size)
        axes = figure.add_subplot()
        dots = axes.scatter(
            positions[:, 0], positions[:, 1], c=values, cmap=shades, s=20, linewidths=0.4,
            edgecolors=colour.of_shade(colour.QUIET),
        )  # fmt: skip
        for (x, y), name in zip(positions, names, strict=True) if len(names) <= MOST_NAMED else ():
            axes.annotate(
                drawable(name), (x, y), xytext=(3, 1.5), textcoords="offset points",
                fontsize=style.TINY - (2.2 if len(names) > 80 else 1.2), parse_math=False,
                color=colour.of_shade(colour.QUIET),
            )  # fmt: skip
        axes.set_aspect("equal", adjustable="datalim")
        style.bare(axes)
        if title is not None:
            axes.set_title(drawable(title), parse_math=False)
        ticks = MaxNLocator(integer=True, nbins=6) if whole else None
        bar = figure.colorbar(dots, ax=axes, fraction=0.045, pad=0.03, ticks=ticks)
        bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
        bar.set_label(drawable(label))
    return figure
