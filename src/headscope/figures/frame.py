"""A figure's frame: title above, legend and caption below, nothing clipped."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import lru_cache

from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle

from headscope.figures import style
from headscope.figures.colour import INK, of_shade
from headscope.figures.fonts import drawable, families

_LINE = 1.35  # of the font size


@lru_cache
def _renderer() -> RendererAgg:
    return RendererAgg(8, 8, 72)


@lru_cache(maxsize=16384)
def text_width(text: str, size: float) -> float:
    """Inches that the text takes in the house fonts."""
    properties = FontProperties(family=list(families()), size=size)
    return _renderer().get_text_width_height_descent(text, properties, ismath=False)[0] / 72


def finish(
    figure: Figure,
    title: str,
    caption: str,
    legend: Sequence[tuple[str, str]] = (),
    below: float = 0.12,  # inches between the picture and the text below
    above: float = 0.0,  # and above it
) -> None:
    """Put texts outside the figure's box; saving trims to what was drawn."""
    width, height = figure.get_size_inches()
    figure.text(
        0,
        1 + (0.10 + above) / height,
        "\n".join(drawable_lines(title)),
        fontsize=style.BODY + 1,
        fontweight="bold",
        ha="left",
        va="bottom",
        parse_math=False,
    )
    down = below
    down += _legend(figure, legend, width, height, down)
    for line in _wrapped(caption, max(width, 3.4)):
        style.caption(figure, line, y=-down / height, va="top")
        down += style.TINY * _LINE / 72


def _wrapped(caption: str, width: float) -> list[str]:
    characters = int(width * 72 / (style.TINY * 0.5))
    lines: list[str] = []
    for line in drawable_lines(caption):
        lines += textwrap.wrap(line, characters)
    return lines


def drawable_lines(text: str) -> list[str]:
    return [drawable(line) for line in text.split("\n")]


def _legend(
    figure: Figure, legend: Sequence[tuple[str, str]], width: float, height: float, down: float
) -> float:
    """Colour chips with their names in rows; returns the inches used."""
    if not legend:
        return 0.0
    x, rows = 0.0, 1
    for name, colour in legend:
        chip = 0.14 + text_width(name, style.SMALL) + 0.14
        if x and x + chip > max(width, 3.4):
            x, rows = 0.0, rows + 1
        y = -(down + (rows - 1) * 0.15)
        figure.patches.append(
            Rectangle((x / width, (y - 0.095) / height), 0.09 / width, 0.09 / height,
                      transform=figure.transFigure, color=colour, lw=0, figure=figure)
        )  # fmt: skip
        figure.text(
            (x + 0.13) / width,
            y / height,
            name,
            fontsize=style.SMALL,
            color=of_shade(INK),
            ha="left",
            va="top",
        )
        x += chip
    return rows * 0.15 + 0.05
