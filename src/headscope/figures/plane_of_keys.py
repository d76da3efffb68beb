"""Queries and keys of a head in one plane, coloured by behaviour."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headscope.figures import style
from headscope.figures.colour import RULE, head_colours, of_shade
from headscope.figures.fonts import drawable
from headscope.figures.frame import finish

SIDE = 3.4  # inches


def plane_of_keys(
    query: NDArray[np.floating],  # n 2
    key: NDArray[np.floating],  # n 2
    behaviour: NDArray[np.integer],
    names: Sequence[str],
    *,
    title: str,
    axes: str,
) -> Figure:
    """A filled point for a query, an open one for its strongest key; `names` is the legend."""
    with style.drawing():
        figure = style.new_figure(SIDE, SIDE)
        plane = figure.add_axes((0, 0, 1, 1))
        for number, (name, colour) in enumerate(zip(names, head_colours(len(names)), strict=True)):
            own = behaviour == number
            plane.scatter(*query[own].T, s=7, color=colour, linewidths=0, label=drawable(name))
            plane.scatter(*key[own].T, s=9, facecolors="none", edgecolors=colour, linewidths=0.6)
        plane.set_xticks([])
        plane.set_yticks([])
        for spine in plane.spines.values():
            spine.set(visible=True, color=of_shade(RULE), linewidth=0.6)
        plane.legend(loc="upper left", bbox_to_anchor=(0, -0.02), frameon=False)
        caption = f"Filled: queries. Open: their strongest keys. {axes} of both together."
        finish(figure, title, caption, below=0.25 * len(names))
    return figure
