"""Heads as dots in a plane: by likeness, or by two measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from headscope.figures import colour, style
from headscope.figures.fonts import drawable

MOST_NAMED = 160  # most dots with names
PALEST = 0.18  # start of the colour scale: its first colour is the paper's


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
    """A number per head, and its name."""

    title: str
    values: NDArray[np.floating]  # n


@dataclass(frozen=True)
class Points:
    """Heads as points: position, name, and whether the name is drawn."""

    x: Axis
    y: Axis
    names: Sequence[str]
    named: Sequence[bool]  # whose names are drawn
    marked: Sequence[bool]  # with a ring and a name
    colour_by: Axis | None = None
    size_by: Axis | None = None

    @property
    def known(self) -> NDArray[np.bool_]:
        """Heads with a number on both axes; the others are left out."""
        return np.isfinite(self.x.values) & np.isfinite(self.y.values)


def measured_scatter(points: Points, *, title: str = "") -> Figure:
    """One dot per head on two axes."""
    with style.drawing():
        figure = style.new_figure(5.2 if points.colour_by else 4.6, 3.6)
        axes = figure.add_subplot()
        dots = _draw_dots(axes, points, points.known)
        axes.set_xlabel(drawable(points.x.title))
        axes.set_ylabel(drawable(points.y.title))
        axes.set_title(_titled(title, points), parse_math=False)
        _draw_scale(figure, axes, dots, points)
    return figure


def scatter_by_layer(points: Points, layers: Sequence[int], *, title: str = "") -> Figure:
    """A small plane per layer, all on the same axes; `layers` has the layer of each head."""
    shown = sorted(set(layers))
    across = max(1, min(len(shown), ceil(sqrt(1.4 * len(shown)))))
    down = ceil(len(shown) / across)
    of_head = np.array(layers)
    with style.drawing():
        figure = style.new_figure(1.5 * across + 0.9, 1.35 * down + 0.6)
        grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
        dots: PathCollection | None = None
        for axes, layer in zip(grid.flat, shown, strict=False):
            dots = _draw_dots(axes, points, points.known & (of_head == layer))
            axes.set_title(f"layer {layer}", fontsize=style.TINY)
        for axes in grid.flat[len(shown) :]:
            axes.set_visible(False)
        figure.supxlabel(drawable(points.x.title), fontsize=style.SMALL)
        figure.supylabel(drawable(points.y.title), fontsize=style.SMALL)
        figure.suptitle(_titled(title, points), parse_math=False)
        if dots is not None:
            _draw_scale(figure, list(grid.flat), dots, points)
    return figure


def _draw_dots(axes: Axes, points: Points, shown: NDArray[np.bool_]) -> PathCollection:
    """Draw this panel's heads, in the colours and sizes of the whole figure."""
    by_size, by_colour = points.size_by, points.colour_by
    areas = np.full(len(shown), 18.0) if by_size is None else 6 + 54 * _shares(by_size.values)
    shades = ListedColormap(colour.sequential()(np.linspace(PALEST, 1, 256)))
    ring = np.where(points.marked, colour.of_shade(colour.NEGATIVE), colour.of_shade(colour.QUIET))
    low, high = (None, None) if by_colour is None else _span(by_colour.values[points.known])
    dots = axes.scatter(
        points.x.values[shown], points.y.values[shown], s=areas[shown], cmap=shades,
        c=None if by_colour is None else by_colour.values[shown], vmin=low, vmax=high,
        edgecolors=ring[shown].tolist(), zorder=3,
        linewidths=np.where(points.marked, 1.2, 0.4)[shown].tolist(),
    )  # fmt: skip
    spoken = np.array(points.named) | np.array(points.marked)
    written = [int(at) for at in np.flatnonzero(shown & spoken)]
    for at in written if len(written) <= MOST_NAMED else ():
        axes.annotate(
            points.names[at], (points.x.values[at], points.y.values[at]), xytext=(3, 1.5),
            parse_math=False, textcoords="offset points", fontsize=style.TINY - 1,
            color=colour.of_shade(colour.QUIET), zorder=4,
        )  # fmt: skip
    axes.grid()
    axes.set_axisbelow(True)
    return dots


def _draw_scale(
    figure: Figure, beside: Axes | list[Axes], dots: PathCollection, points: Points
) -> None:
    if points.colour_by is None:
        return
    bar = figure.colorbar(dots, ax=beside, fraction=0.045, pad=0.03)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    bar.set_label(drawable(points.colour_by.title))


def _titled(title: str, points: Points) -> str:
    sized = "" if points.size_by is None else f"size: {points.size_by.title}"
    return drawable("   ".join(filter(None, (title, sized))))


def _span(values: NDArray[np.floating]) -> tuple[float, float] | tuple[None, None]:
    known = values[np.isfinite(values)]
    return (float(known.min()), float(known.max())) if known.size else (None, None)


def _shares(values: NDArray[np.floating]) -> NDArray[np.floating]:
    """Each value between the smallest (0) and the largest (1); unknown ones are small."""
    low, high = np.nanmin(values), np.nanmax(values)
    return np.nan_to_num((values - low) / ((high - low) or 1.0))
