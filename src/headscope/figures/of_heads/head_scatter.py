"""Heads as dots in a plane: by likeness, or by any numbers of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Axis:
    """A number of every head, and what it is called."""

    title: str
    values: NDArray[np.floating]  # n


def measured_scatter(
    x: Axis,
    y: Axis,
    *,
    colour_by: Axis | None = None,
    size_by: Axis | None = None,
    names: Sequence[str],  # of each head
    named: Sequence[bool],  # those whose names are written
    marked: Sequence[bool],  # those with a ring, named too
    title: str = "",
) -> Figure:
    """One dot per head on two axes; heads without a number on either are left out."""
    known = np.isfinite(x.values) & np.isfinite(y.values)
    areas = np.full(len(names), 18.0) if size_by is None else 6 + 54 * _shares(size_by.values)
    shades = ListedColormap(colour.sequential()(np.linspace(PALEST, 1, 256)))
    ring = np.where(marked, colour.of_shade(colour.NEGATIVE), colour.of_shade(colour.QUIET))
    with style.drawing():
        figure = style.new_figure(5.2 if colour_by else 4.6, 3.6)
        axes = figure.add_subplot()
        dots = axes.scatter(
            x.values[known], y.values[known], s=areas[known], cmap=shades,
            c=None if colour_by is None else colour_by.values[known],
            edgecolors=ring[known].tolist(), zorder=3,
            linewidths=np.where(marked, 1.2, 0.4)[known].tolist(),
        )  # fmt: skip
        written = [int(at) for at in np.flatnonzero(known) if named[int(at)] or marked[int(at)]]
        for at in written if len(written) <= MOST_NAMED else ():
            axes.annotate(
                names[at], (x.values[at], y.values[at]), xytext=(3, 1.5), parse_math=False,
                textcoords="offset points", fontsize=style.TINY - 1,
                color=colour.of_shade(colour.QUIET), zorder=4,
            )  # fmt: skip
        axes.set_xlabel(drawable(x.title))
        axes.set_ylabel(drawable(y.title))
        axes.grid()
        axes.set_axisbelow(True)
        sized = "" if size_by is None else f"size: {size_by.title}"
        axes.set_title(drawable("   ".join(filter(None, (title, sized)))), parse_math=False)
        if colour_by is not None:
            bar = figure.colorbar(dots, ax=axes, fraction=0.045, pad=0.03)
            bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
            bar.set_label(drawable(colour_by.title))
    return figure


def _shares(values: NDArray[np.floating]) -> NDArray[np.floating]:
    """Each value between the smallest (0) and the largest (1); unknown ones are small."""
    low, high = np.nanmin(values), np.nanmax(values)
    return np.nan_to_num((values - low) / ((high - low) or 1.0))
