"""A picture shaded by its patches' numbers, one panel per head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from headscope.figures import style
from headscope.figures.colour import QUIET, of_shade
from headscope.figures.frame import finish

if TYPE_CHECKING:
    from headscope.media.positions import Positions

HEAT, OUTLINE = "#e8590c", "#1971c2"
FINEST = 320  # cells a side when shading is smoothed


@dataclass(frozen=True)
class Panel:
    title: str
    values: NDArray[np.float64]  # one per position


def shaded_pictures(
    pictures: Sequence[NDArray[np.uint8]],  # rows columns 3
    positions: Positions,
    panels: Sequence[Panel],
    *,
    in_hand: Sequence[tuple[int, list[float]]] = (),
    title: str,
    caption: str,
    opacity: float = 0.8,
    smooth: bool = False,
) -> Figure:
    across = ceil(sqrt(len(panels) * len(pictures)))
    down = ceil(len(panels) * len(pictures) / across)
    side = 3.2 if across == 1 else max(1.3, 6.4 / across)
    tall = side * max(picture.shape[0] / picture.shape[1] for picture in pictures)
    with style.drawing():
        figure = style.new_figure(side * across, (tall + 0.28) * down)
        for number, panel in enumerate(panels):
            for which, picture in enumerate(pictures):
                at = number * len(pictures) + which
                axes = _axes(figure, at, across, down, tall / (tall + 0.28))
                _paint(axes, picture, positions, which, panel, opacity, smooth)
                for other, rectangle in in_hand:
                    if other == which:
                        _outline(axes, rectangle)
        finish(figure, title, f"{caption}\n{_scale(panels, positions, opacity, smooth)}")
    return figure


def _axes(figure: Figure, at: int, across: int, down: int, share: float) -> Axes:
    row, column = divmod(at, across)
    width, height = 1 / across, 1 / down
    room = (column * width + 0.01, 1 - (row + 1) * height, width - 0.02, height * share)
    return figure.add_axes(room)


def _paint(
    axes: Axes,
    picture: NDArray[np.uint8],
    positions: Positions,
    which: int,
    panel: Panel,
    opacity: float,
    smooth: bool,
) -> None:
    height, width = picture.shape[:2]
    axes.imshow(picture, extent=(0, width, height, 0), interpolation="nearest")
    here = positions.pictures == which
    strongest = float(panel.values[positions.pictures >= 0].max(initial=0.0)) or 1.0
    rectangles, values = positions.rectangles[here], panel.values[here] / strongest
    if smooth:
        shade = smoothed(rectangles, values, height, width)
        layer = np.zeros((*shade.shape, 4))
        layer[..., :3] = _rgb(HEAT)
        layer[..., 3] = shade * opacity
        axes.imshow(layer, extent=(0, width, height, 0), interpolation="bilinear")
    else:
        for (left, top, right, bottom), value in zip(rectangles, values, strict=True):
            axes.add_patch(
                Rectangle(
                    (left, top),
                    right - left,
                    bottom - top,
                    facecolor=HEAT,
                    alpha=float(value) * opacity,
                    linewidth=0,
                )
            )
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    share = panel.values[here].sum()
    axes.set_title(
        f"{panel.title}   {share:.0%} on the picture", fontsize=style.SMALL, color=of_shade(QUIET)
    )
    style.bare(axes)


def smoothed(
    rectangles: NDArray[np.float32], values: NDArray[np.float64], height: int, width: int
) -> NDArray[np.float64]:
    """Values at the middles of patches, linear in between; the numbers stay those of patches."""
    from scipy.interpolate import griddata

    scale = min(1.0, FINEST / max(height, width))
    rows, columns = max(2, round(height * scale)), max(2, round(width * scale))
    middles = np.stack(
        [(rectangles[:, 1] + rectangles[:, 3]) / 2, (rectangles[:, 0] + rectangles[:, 2]) / 2], 1
    )
    y, x = np.mgrid[0.5:rows, 0.5:columns] / scale
    inside = griddata(middles, values, (y, x), method="linear")
    nearest = griddata(middles, values, (y, x), method="nearest")
    return np.where(np.isnan(inside), nearest, inside)


def _outline(axes: Axes, rectangle: Sequence[float]) -> None:
    left, top, right, bottom = rectangle
    for colour, width in (("white", 3.2), (OUTLINE, 1.6)):  # visible on any picture, blue ones too
        axes.add_patch(
            Rectangle(
                (left, top),
                right - left,
                bottom - top,
                fill=False,
                edgecolor=colour,
                linewidth=width,
            )
        )


def _rgb(colour: str) -> tuple[float, float, float]:
    return tuple(int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))  # pyright: ignore[reportReturnType]


def _scale(panels: Sequence[Panel], positions: Positions, opacity: float, smooth: bool) -> str:
    most = [float(panel.values[positions.pictures >= 0].max(initial=0.0)) for panel in panels]
    told = f"strongest patch {most[0]:.3f}" if len(most) == 1 else "strongest patch of each panel"
    between = "; smoothed between the middles of patches" if smooth else ""
    return f"orange, opacity by weight: {told} at {opacity:.0%}{between}"
