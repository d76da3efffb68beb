"""Panels of curves over one axis, such as the share of heads or the training step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter
from numpy.typing import NDArray

from headscope.figures import colour, style
from headscope.figures.fonts import drawable

Floats = NDArray[np.floating]


@dataclass(frozen=True)
class Panel:
    """One panel: named lines, points beside them, intervals, and a dashed level."""

    label: str
    lines: Mapping[str, tuple[Floats, Floats]]
    intervals: Mapping[str, tuple[Floats, Floats]] = field(
        default_factory=dict[str, tuple[Floats, Floats]]
    )  # low and high of a line
    points: Mapping[str, tuple[Floats, Floats]] = field(
        default_factory=dict[str, tuple[Floats, Floats]]
    )
    level: float | None = None
    marks: Sequence[float] = ()  # upright lines


def curves(
    panels: Sequence[Panel],
    across: str,
    *,
    title: str,
    width: float = 3.6,
    height: float = 1.5,
    logarithmic: bool = False,
) -> Figure:
    """The panels, sharing the axis across; each line keeps its colour from panel to panel."""
    names = list(dict.fromkeys(name for one in panels for name in (*one.lines, *one.points)))
    colours = dict(zip(names, colour.head_colours(max(2, len(names))), strict=False))
    with style.drawing():
        figure = style.new_figure(width, height * len(panels))
        every = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        for axes, panel in zip(every, panels, strict=True):
            if panel.level is not None:
                axes.axhline(panel.level, color=colour.of_shade(colour.QUIET), lw=0.7, ls="--")
            for mark in panel.marks:
                axes.axvline(mark, color=colour.of_shade(colour.NEGATIVE), lw=0.8)
            for name, (x, y) in panel.lines.items():
                axes.plot(x, y, color=colours[name], lw=1.1, label=drawable(name))
                if name in panel.intervals:
                    low, high = panel.intervals[name]
                    axes.fill_between(x, low, high, color=colours[name], alpha=0.18, lw=0)
            for name, (x, y) in panel.points.items():
                axes.scatter(x, y, color=colours[name], s=12, label=drawable(name), zorder=3)
            axes.set_ylabel(drawable(panel.label))
            if logarithmic:
                axes.set_xscale("symlog", linthresh=10)
                axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        every[0].set_title(drawable(title), parse_math=False)
        every[-1].set_xlabel(drawable(across))
        if 1 < len(names) <= 12:
            every[-1].legend(
                *_legend(list(every)), loc="upper left", bbox_to_anchor=(0, -0.32), ncols=3,
                borderaxespad=0, handlelength=1.4,
            )  # fmt: skip
    return figure


def _legend(every: Sequence[object]) -> tuple[list[object], list[str]]:
    """Each name once, from all panels."""
    found: dict[str, object] = {}
    for axes in every:
        handles, labels = axes.get_legend_handles_labels()  # pyright: ignore
        for handle, label in zip(handles, labels, strict=True):  # pyright: ignore
            found.setdefault(label, handle)  # pyright: ignore
    return list(found.values()), list(found)
