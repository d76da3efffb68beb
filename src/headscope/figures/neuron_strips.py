"""One query's q and every key's k as strips of neurons, then the sum up to the softmax."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from headscope.figures import style
from headscope.figures.colour import INK, NEGATIVE, POSITIVE, QUIET, RULE, diverging, of_shade
from headscope.figures.frame import finish, text_width
from headscope.figures.tokens import (
    TokenLine,
    column,
    font_size,
    label_step,
    ordinal,
    row_height,
)

GAP = 0.22  # inches between columns
BAR = 0.5  # inches of a bar column
NUMBER = 0.38  # inches of the numbers beside it


@dataclass(frozen=True)
class BarColumn:
    """One number per key: a signed bar, or one that grows from the left."""

    name: str
    values: NDArray[np.floating]  # s
    signed: bool = True


def neuron_strips(
    q: NDArray[np.floating],  # d
    k: NDArray[np.floating],  # s d
    query_label: str,
    key: TokenLine,
    bars: Sequence[BarColumn],
    *,
    title: str,
    caption: str,
    order: NDArray[np.intp] | None = None,  # d: the neurons' order; None: by number
    share: NDArray[np.floating] | None = None,  # d: cumulative share of the contributions
    product: NDArray[np.floating] | None = None,  # s d: in the second strip, in place of q × k
    names: tuple[str, str, str] = ("q", "k", "q × k"),  # above, below it, and the second strip
) -> Figure:
    """Draw columns k and q×k as cells, then the bars; q is above k, neuron by neuron."""
    product = q[None, :] * k if product is None else product
    above, below, second = names
    sorted_ = order is not None
    order = np.arange(q.size) if order is None else order
    rows, size = len(key), font_size(len(key))
    step = label_step(rows)  # height of a letter in rows
    strip = max(1.4, min(2.4, q.size * 0.028))
    height = (rows + 2 * step) * row_height(rows)  # room above for q and the names
    left = max(text_width(label, size) for label in [*key.labels, query_label]) + 0.16
    width = left + 2 * strip + GAP + len(bars) * (BAR + NUMBER + GAP) + 0.1
    with style.drawing():
        figure = style.new_figure(width, height)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, width)
        axes.set_ylim(rows - 0.5, _above(2.0, step))
        style.bare(axes)
        axes.axhline(_above(0.12, step), 0, 1, color=of_shade(RULE), lw=0.6)
        column(axes, key, left - 0.04, "left", size)
        _name(axes, left - 0.11, _above(0.8, step), f"query {query_label}", "right", INK)
        both, each = f"{above}, {below}", second.replace(" ", "")
        signed = {both: _reach(np.concatenate([q[None], k])), each: _reach(product)}
        _cells(axes, q[None, order], left, strip, _above(1.22, step), signed[both], step)
        _name(axes, left, _above(1.65, step), f"{above} above, {below} below", "left")
        _cells(axes, k[:, order], left, strip, -0.42, signed[both])
        start = left + strip + GAP
        _name(axes, start, _above(1.65, step), f"{second}, neuron by neuron", "left")
        _cells(axes, product[:, order], start, strip, -0.42, signed[each])
        if share is not None:
            _share(axes, share, start, strip, step)
        for at, bar in enumerate(bars):
            _bars(axes, bar, start + strip + GAP + at * (BAR + NUMBER + GAP))
        scale = ", ".join(f"{name} ±{reach:.3g}" for name, reach in signed.items())
        neurons = "by contribution" if sorted_ else "in their order"
        named = f"; every {ordinal(step)} key is named" if step > 1 else ""
        how = f"blue positive, orange negative; full colour at {scale}; neurons {neurons}{named}"
        finish(figure, title, f"{caption}\n{how}")
    return figure


def _reach(values: NDArray[np.floating]) -> float:
    """The value of full colour: the largest, unless a few outliers would blank the rest."""
    sizes = np.abs(values[np.isfinite(values)])
    return float(min(sizes.max(), 4 * np.percentile(sizes, 95))) or 1.0


def _name(axes: Axes, x: float, y: float, text: str, align: str, colour: str = QUIET) -> None:
    axes.text(
        x,
        y,
        text,
        fontsize=style.TINY + 0.5,
        color=of_shade(colour),
        ha=align,
        va="center",
        parse_math=False,
    )


def _above(rows: float, step: int) -> float:
    """The position above the first key, in rows as tall as a letter."""
    return -0.5 - rows * step


def _cells(
    axes: Axes,
    values: NDArray[np.floating],
    left: float,
    width: float,
    top: float,
    reach: float,
    tall: int = 1,
) -> None:
    """One strip per row, with gaps if there are few enough to see them."""
    limits = axes.get_ylim()
    apart = label_step(len(values)) == 1
    for row, lines in enumerate(values[:, None] if apart else [values]):
        start, end = top + row, top + row + tall * (len(lines) - 0.16)
        axes.imshow(
            lines, cmap=diverging(), norm=Normalize(-reach, reach), aspect="auto",
            extent=(left, left + width, end, start), interpolation="nearest",
        )  # fmt: skip
    axes.set_xlim(0, axes.figure.get_size_inches()[0])  # pyright: ignore
    axes.set_ylim(*limits)


def _share(axes: Axes, share: NDArray[np.floating], left: float, width: float, step: int) -> None:
    """A small line: the share of the contribution that the neurons up to here carry."""
    x = left + (np.arange(share.size) + 1) / share.size * width
    axes.plot(x, _above(0.28, step) - 0.85 * step * share, color=of_shade(QUIET), lw=0.7)


def _bars(axes: Axes, bar: BarColumn, left: float) -> None:
    """Bars, and beside them the numbers in a column of their own."""
    finite = bar.values[np.isfinite(bar.values)]
    reach = 1.0 if not bar.signed or not finite.any() else float(np.abs(finite).max())
    right = left + BAR
    zero = left + (BAR / 2 if (finite < 0).any() else 0.0)
    unit = (right - zero) / reach
    step = label_step(len(bar.values))
    _name(axes, right + NUMBER, _above(0.8, step), bar.name, "right")
    axes.plot([zero, zero], [-0.5, len(bar.values) - 0.5], color=of_shade(RULE), lw=0.6)
    boxes: list[Rectangle] = []
    colours: list[str] = []
    for row, value in enumerate(bar.values):
        named = row % step == 0
        if not np.isfinite(value):
            if named:
                _number(axes, right + NUMBER, row, "masked")
            continue
        sign = POSITIVE if value >= 0 else NEGATIVE
        colours.append(of_shade(sign if bar.signed else INK))
        end = zero + float(value) * unit
        boxes.append(Rectangle((min(zero, end), row - 0.36), abs(end - zero), 0.72))
        if named:
            _number(axes, right + NUMBER, row, f"{value:.2f}" if bar.signed else f"{value:.3f}")
    axes.add_collection(PatchCollection(boxes, facecolors=colours, linewidths=0))


def _number(axes: Axes, right: float, row: int, text: str) -> None:
    colour = of_shade(QUIET) if text == "masked" else of_shade(INK)
    axes.text(right, row, text, fontsize=style.TINY - 0.5, color=colour, ha="right", va="center")
