"""A number per head as a map: layers down, heads across."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from headscope.figures import colour, style
from headscope.figures.fonts import drawable


def layer_head_map(
    values: NDArray[np.floating],  # layers heads; NaN where there is nothing to show
    title: str,
    label: str,
    diverging: bool = False,
    mark: Sequence[tuple[int, int]] | None = None,  # (layer, head) cells to outline
    *,
    limits: tuple[float, float] | None = None,
    layers: Sequence[int] | None = None,  # row labels if not 0, 1, 2, …
    less_is_better: bool = False,  # reverses a diverging scale, so that orange is worse
) -> Figure:
    """Draw the map with its colour scale; `diverging` centres the scale on zero."""
    values = layers_by_heads(values, "layer_head_map")
    rows, columns = values.shape
    show_numbers = rows * columns <= 200  # the value in each cell
    cell = 0.30 if show_numbers else max(0.10, min(0.24, 4.6 / columns))
    norm = scale_of(values, diverging, limits)
    with style.drawing():
        figure, axes = _laid_out(rows, columns, cell)
        scale = colour.diverging() if diverging else colour.sequential()
        scale = scale.reversed() if diverging and less_is_better else scale
        axes.set_facecolor("#ececef")  # shows through where a value is missing
        image = axes.imshow(
            np.ma.masked_invalid(values),
            cmap=scale,
            norm=norm,
            aspect="auto",
            interpolation="nearest",
        )
        label_ticks(axes.xaxis, columns, range(columns), cell)
        label_ticks(axes.yaxis, rows, layers if layers is not None else range(rows), cell)
        axes.set_xlabel("head")
        axes.set_ylabel("layer")
        axes.set_title(drawable(title), parse_math=False)
        axes.tick_params(length=0)
        _draw_borders(axes, rows, columns, 0.6 if cell > 0.14 else 0.3)
        if show_numbers:
            _write_numbers(axes, values, image)
        ink = colour.of_shade(colour.INK)
        for layer, head in mark or ():
            position = (head - 0.5, layer - 0.5)
            axes.add_patch(Rectangle(position, 1, 1, fill=False, edgecolor=ink, linewidth=1.2))
        _draw_scale(figure, axes, image, label)
    return figure


def layers_by_heads(values: NDArray[np.floating], drawing: str) -> NDArray[np.floating]:
    """The numbers as an array for that drawing; another shape raises an error."""
    values = np.asarray(values, dtype=float)
    if values.ndim != 2:
        raise ValueError(
            f"{drawing} needs a layers × heads array, not one of shape {values.shape}."
        )
    return values


def _laid_out(rows: int, columns: int, cell: float) -> tuple[Figure, Axes]:
    """A figure with room for the cells, their numbers at the sides, and the colour scale."""
    figure = style.new_figure(cell * columns + 1.5, cell * rows + 0.9)
    width, height = figure.get_figwidth(), figure.get_figheight()
    position = (0.55 / width, 0.5 / height, cell * columns / width, cell * rows / height)
    return figure, figure.add_axes(position)


def _draw_borders(axes: Axes, rows: int, columns: int, width: float) -> None:
    """Paper between the cells, and no frame around them."""
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xticks(np.arange(0.5, columns - 1), minor=True)
    axes.set_yticks(np.arange(0.5, rows - 1), minor=True)
    axes.grid(which="minor", color=colour.of_shade(colour.PAPER), linewidth=width)
    axes.tick_params(which="minor", length=0)


def _draw_scale(figure: Figure, axes: Axes, image: AxesImage, label: str) -> None:
    """The colour scale to the right of the map, as high as the map."""
    width, beside = figure.get_figwidth(), axes.get_position()
    position = figure.add_axes((1 - 0.78 / width, beside.y0, 0.09 / width, beside.height))
    bar = figure.colorbar(image, cax=position)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    bar.set_label(drawable(label))
    bar.ax.tick_params(length=2)


def scale_of(
    values: NDArray[np.floating], diverging: bool, limits: tuple[float, float] | None
) -> Normalize:
    """The numbers at both ends of the colours."""
    finite = values[np.isfinite(values)]
    low, high = limits or (
        (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    )
    if diverging:
        reach = max(abs(low), abs(high)) or 1.0
        return TwoSlopeNorm(0.0, -reach, reach)
    if limits is None and low >= 0 and high <= 1.0:
        low = 0.0  # shares start at zero, so that two maps can be compared
    return Normalize(low, high if high > low else low + 1.0)


def label_ticks(axis, count: int, names: Sequence[int] | range, cell: float) -> None:  # pyright: ignore
    """As many names along an axis as fit."""
    step = next(s for s in (1, 2, 4, 5, 8, 10, 16, 20, 50, 100) if s * cell >= 0.17 or s == 100)
    axis.set_ticks(range(0, count, step), [str(names[i]) for i in range(0, count, step)])


def _write_numbers(axes, values, image) -> None:  # pyright: ignore
    largest = np.nanmax(np.abs(values)) if np.isfinite(values).any() else 0.0
    pattern = "{:.2f}" if largest < 10 else "{:.0f}"
    for (layer, head), value in np.ndenumerate(values):
        if not np.isfinite(value):
            continue
        red, green, blue, _ = image.cmap(image.norm(value))
        dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5
        text = pattern.format(value)
        text = text.removeprefix("-") if not text.strip("-0.") else text  # no minus before zero
        text = text.replace("0.", ".", 1) if largest < 1.0 else text
        axes.text(
            head,
            layer,
            text,
            ha="center",
            va="center",
            fontsize=5.2,
            color="white" if dark else colour.of_shade(colour.INK),
        )


# Several maps of a number per head side by side, on one colour scale.

GAP, LEFT, BELOW = 0.22, 0.5, 0.5  # inches


def layer_head_maps(
    maps: Mapping[str, NDArray[np.floating]],  # title: layers heads
    label: str,
    diverging: bool = False,
    *,
    limits: tuple[float, float] | None = None,
) -> Figure:
    """Draw the maps in one row on a shared colour scale."""
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
        for position, (title, one) in enumerate(values.items()):
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
            if position:
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
