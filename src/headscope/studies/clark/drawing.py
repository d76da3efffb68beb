"""Lines over layers, and heads in the plane coloured by behaviour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from headscope.figures import colour, style
from headscope.figures.fonts import drawable
from headscope.figures.of_heads.named_points import name_points


def lines_by_layer(
    curves: Mapping[str, NDArray[np.float64]],
    label: str,
    paper: Mapping[str, NDArray[np.float64]] | None = None,  # by the same names
) -> Figure:
    """One line per curve, with its own colour and mark; the paper's is dashed beside it."""
    marks = "os^D"
    with style.drawing():
        figure = style.new_figure(3.6, 2.9)
        axes = figure.add_subplot()
        hues = colour.head_colours(max(len(curves), 1))
        for number, (name, values) in enumerate(curves.items()):
            drawn: Any = {"color": hues[number], "marker": marks[number % len(marks)]}
            layers = np.arange(len(values))
            axes.plot(layers, values, linewidth=1.2, markersize=3, label=drawable(name), **drawn)
            if paper is None:
                continue
            axes.plot(
                layers, paper[name], linewidth=0.9, markersize=2, linestyle=(0, (4, 3)),
                label=drawable(f"{name}, paper"), **drawn,
            )  # fmt: skip
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("layer")
        axes.set_ylabel(drawable(label))
        axes.set_ylim(bottom=0)
        axes.grid(axis="y")
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.2), ncols=2, borderaxespad=0)
    return figure


def heads_in_plane(
    positions: NDArray[np.float64],  # n 2
    groups: Sequence[str],  # each head's group
    names: Sequence[str],  # its label, "" for none
    title: str,
    heads: Sequence[str],  # which head it is
) -> Figure:
    """Heads as dots; each group has its colour and its mark."""
    kinds = sorted(set(groups), key=lambda kind: (kind == "other", kind))
    hues = colour.head_colours(max(len(kinds), 1))
    marks = "osD^vP*X<>hp"
    with style.drawing():
        figure = style.new_figure(5.6, 4.2)
        axes = figure.add_subplot()
        for number, kind in enumerate(kinds):
            inside = np.array([group == kind for group in groups])
            quiet = kind == "other"
            dots = axes.scatter(
                *positions[inside].T, s=14, label=drawable(kind), linewidths=0,
                color=colour.RULE if quiet else hues[number], marker=marks[number % len(marks)],
            )  # fmt: skip
            name_points(dots, [head for head, holds in zip(heads, inside, strict=True) if holds])
        for (x, y), name in zip(positions, names, strict=True):
            if name:
                axes.annotate(drawable(name), (x, y), fontsize=style.TINY, xytext=(3, 2),
                              textcoords="offset points", parse_math=False)  # fmt: skip
        axes.set_title(drawable(title), parse_math=False)
        axes.set_aspect("equal")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
