"""Several maps of a number per head side by side, on one colour scale."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headscope.figures import colour, style
from headscope.figures.fonts import drawable
from headscope.figures.of_heads.layer_head_map import label_ticks, scale_of

GAP, LEFT, BELOW = 0.22, 0.5, 0.5  # inches


def layer_head_maps(
    maps: Mapping[str, NDArray[np.floating]],  # title: layers heads
    label: str,
    diverging: bool = False,
    *,
    limits: tuple[float, float] | None = None,
) -> Figure:
    """Draw the maps in one row; the same colour is the same number in all of them."""
    values = {title: np.asarray(one, dtype=float) for title, one in maps.items()}
    norm = scale_of(np.concatenate([one.ravel() for one in values.values()]), diverging, limits)
    rows = max(one.shape[0] for one in values.values())
    columns = [one.shape[1] for one in values.values()]
    cell = max(0.07, min(0.17, 8.0 / sum(columns)))
    width = LEFT + cell * sum(columns) + GAP * len(columns) + 0.75
    with style.drawing():
        figure = style.new_figure(width, cell * rows + BELOW + 0.4)
        height = figure.get_figheight()
        left, image = LEFT, None
        for place, (title, one) in enumerate(values.items()):
            size = (cell * one.shape[1] / width, cell * one.shape[0] / height)
            bottom = (BELOW + cell * (rows - one.shape[0])) / height
            axes = figure.add_axes((left / width, bottom, *size))
            axes.set_facecolor("#ececef")  # shows through where a value is missing
            image = axes.imshow(
                np.ma.masked_invalid(one),
                cmap=colour.diverging() if diverging else colour.sequential(),
                norm=norm,
                aspect="auto",
                interpolation="nearest",
            )
            label_ticks(axes.xaxis, one.shape[1], range(one.shape[1]), cell)
            label_ticks(axes.yaxis, one.shape[0], range(one.shape[0]), cell)
            if place:
                axes.set_yticklabels([])
            else:
                axes.set_ylabel("layer")
            axes.set_xlabel("head")
            axes.set_title(drawable(title), parse_math=False, fontsize=style.TINY + 1)
            axes.tick_params(length=0)
            for spine in axes.spines.values():
                spine.set_visible(False)
            left += cell * one.shape[1] + GAP
        assert image is not None, "there is no map to draw"
        bar_axes = figure.add_axes(
            ((left - 0.05) / width, BELOW / height, 0.09 / width, cell * rows / height)
        )
        bar = figure.colorbar(image, cax=bar_axes)
        bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
        bar.set_label(drawable(label))
        bar.ax.tick_params(length=2)
    return figure
