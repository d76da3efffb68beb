"""Heads as dots in a plane, coloured by a number: which heads are alike."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headscope.figures import colour, style
from headscope.figures.fonts import drawable


def head_scatter(
    positions: NDArray[np.floating],  # n 2
    values: NDArray[np.floating],  # n
    label: str,
    *,
    title: str | None = None,
    size: float = 3.4,
) -> Figure:
    """One dot per head; the plane has no axes, only distances."""
    with style.drawing():
        figure = style.new_figure(size + 0.6, size)
        axes = figure.add_subplot()
        dots = axes.scatter(
            positions[:, 0], positions[:, 1], c=values, cmap=colour.sequential(), s=18, linewidths=0
        )
        axes.set_aspect("equal", adjustable="datalim")
        style.bare(axes)
        if title is not None:
            axes.set_title(drawable(title), parse_math=False)
        bar = figure.colorbar(dots, ax=axes, fraction=0.045, pad=0.03)
        bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
        bar.set_label(drawable(label))
    return figure
