"""A number per head as dots above its layer: how a behaviour changes with depth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headscope.figures import colour, style
from headscope.figures.fonts import drawable
from headscope.figures.of_heads.layer_head_map import layers_by_heads
from headscope.figures.of_heads.named_points import name_points


def scatter_by_layer(
    values: NDArray[np.floating],  # layers heads
    label: str,
    mean_line: bool = True,
    # dashed levels, or lines over the layers, with their names
    reference: float | Mapping[str, float | NDArray[np.floating]] | None = None,
    *,
    title: str | None = None,
    width: float = 3.4,
    height: float = 2.3,
) -> Figure:
    """One dot per head; the line joins the means of the layers."""
    values = layers_by_heads(values, "scatter_by_layer")
    layers, heads = values.shape
    with style.drawing():
        figure = style.new_figure(width, height)
        axes = figure.add_subplot()
        across = np.repeat(np.arange(layers), heads)
        dots = axes.scatter(
            across,
            values.ravel(),
            s=9,
            color=colour.of_shade(colour.POSITIVE),
            alpha=0.55,
            linewidths=0,
            zorder=3,
        )
        name_points(dots, [f"{layer}-{head}" for layer in range(layers) for head in range(heads)])
        if mean_line:
            means = np.array([np.nan if np.isnan(row).all() else np.nanmean(row) for row in values])
            axes.plot(
                np.arange(layers),
                means,
                color=colour.of_shade(colour.INK),
                linewidth=1.1,
                zorder=4,
                label="mean of the layer",
            )
        _name_highest(axes, values)
        plain = isinstance(reference, int | float)
        levels = {"": float(reference)} if plain else dict(reference or {})
        _draw_levels(axes, levels)
        _label_axes(axes, layers, label)
        if title:
            axes.set_title(drawable(title), parse_math=False)
        if mean_line or any(levels):
            axes.legend(
                loc="upper left",
                bbox_to_anchor=(0, -0.24),
                ncols=2,
                handlelength=1.6,
                borderaxespad=0,
            )
        figure.subplots_adjust(left=0.15, right=0.98, top=0.88, bottom=0.26)
    return figure


def _label_axes(axes: Axes, layers: int, label: str) -> None:
    axes.set_xticks(range(0, layers, 1 if layers <= 16 else 2 if layers <= 32 else 5))
    axes.set_xlim(-0.6, layers - 0.4)
    axes.set_xlabel("layer")
    axes.set_ylabel(drawable(label))
    axes.grid(axis="y")
    axes.set_axisbelow(True)


def _draw_levels(axes: Axes, levels: Mapping[str, float | NDArray[np.floating]]) -> None:
    for name, level in levels.items():
        drawn: Any = {
            "color": colour.of_shade(colour.NEGATIVE),
            "linewidth": 0.8,
            "linestyle": (0, (4, 3)),
            "zorder": 4,
            "label": drawable(name) or None,
        }
        if isinstance(level, np.ndarray):
            axes.plot(np.arange(len(level)), level, marker="o", markersize=2, **drawn)
        else:
            axes.axhline(level, **drawn)


NAMED = 3  # highest heads to name


def _name_highest(axes: Axes, values: NDArray[np.floating]) -> None:
    """Label the highest points with their heads."""
    order = np.argsort(np.where(np.isfinite(values), -values, np.inf), axis=None)[:NAMED]
    for layer, head in zip(*np.unravel_index(order, values.shape), strict=True):
        if np.isfinite(values[layer, head]):
            axes.annotate(
                f"{layer}-{head}",
                (float(layer), float(values[layer, head])),
                xytext=(3, 1),
                textcoords="offset points",
                fontsize=style.TINY - 1,
                color=colour.of_shade(colour.QUIET),
                zorder=5,
            )
