"""Every head's map as a small picture, layers down and heads across: the model view on paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headscope.figures import style
from headscope.figures.colour import RULE, sequential
from headscope.figures.frame import finish


def model_grid(
    maps: NDArray[np.floating],  # l h r c, pooled weights
    *,
    layers: Sequence[int],
    heads: Sequence[int],
    title: str,
    caption: str,
) -> Figure:
    """Dark is a weight near 1; the square root makes small weights visible, as the scale says."""
    rows, columns, high, wide = maps.shape
    cell = max(0.28, min(0.62, 7.0 / columns))
    tall = cell * min(1.6, max(0.6, high / wide))
    pad = 0.12  # of a cell, between cells
    with style.drawing():
        figure = style.new_figure(columns * cell, rows * tall)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, columns)
        axes.set_ylim(rows, 0)
        scale = PowerNorm(0.5, 0.0, 1.0)
        image = None
        for row, column in np.ndindex(rows, columns):
            left, right = column + pad / 2, column + 1 - pad / 2
            top, bottom = row + pad / 2, row + 1 - pad / 2
            image = axes.imshow(
                maps[row, column], cmap=sequential(), norm=scale, aspect="auto",
                extent=(left, right, bottom, top), interpolation="nearest",
            )  # fmt: skip
            axes.plot(
                [left, right, right, left, left],
                [top, top, bottom, bottom, top],
                color=RULE,
                lw=0.5,
            )
        axes.set_xlim(0, columns)
        axes.set_ylim(rows, 0)
        axes.set_xticks(np.arange(columns) + 0.5, [str(head) for head in heads])
        axes.set_yticks(np.arange(rows) + 0.5, [str(layer) for layer in layers])
        axes.xaxis.set_ticks_position("top")
        axes.xaxis.set_label_position("top")
        axes.set_xlabel("head")
        axes.set_ylabel("layer")
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        width, height = figure.get_size_inches()
        bar_height = min(1.6, height)
        bar_axes = figure.add_axes(
            (1 + 0.12 / width, 1 - bar_height / height, 0.08 / width, bar_height / height)
        )
        assert image is not None
        bar = figure.colorbar(image, cax=bar_axes, ticks=[0, 0.05, 0.25, 0.5, 1.0])
        bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
        bar.ax.set_yticklabels(["0", ".05", ".25", ".5", "1"])
        bar.set_label("largest weight (square-root scale)")
        finish(figure, title, caption, above=0.34)
    return figure
