"""A spectrogram shaded by its moments' numbers, one strip per head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headscope.figures import style
from headscope.figures.colour import INK, PAPER, QUIET, RULE, of_shade
from headscope.figures.fonts import drawable
from headscope.figures.frame import finish, text_width
from headscope.figures.shaded_picture import HEAT, OUTLINE

if TYPE_CHECKING:
    from headscope.media.positions import Positions

WIDTH, LANE, GAP = 6.4, 0.34, 0.34  # inches


@dataclass(frozen=True)
class Strip:
    title: str
    values: NDArray[np.float64]  # one per position


def shaded_sound(
    loudness: NDArray[np.uint8],  # bands moments
    seconds: float,
    positions: Positions,
    strips: Sequence[Strip],
    *,
    words: Sequence[tuple[str, float, float]] = (),
    in_hand: Sequence[Sequence[float]] = (),
    title: str,
    caption: str,
    opacity: float = 0.8,
) -> Figure:
    tall = 1.5 if len(strips) <= 2 else 0.8
    lane = LANE if words else 0.0
    height = lane + (tall + GAP) * max(1, len(strips))
    with style.drawing():
        figure = style.new_figure(WIDTH, height)
        for number, strip in enumerate(strips):
            bottom = height - lane - (tall + GAP) * (number + 1) + 0.16
            axes = figure.add_axes((0, bottom / height, 1, tall / height))
            _paint(axes, loudness, seconds, positions, strip, opacity)
            for start, end in in_hand:
                axes.axvspan(start, end, fill=False, edgecolor=OUTLINE, linewidth=1.4)
            _axis(axes, seconds, number == len(strips) - 1)
        if words:
            _lane(figure, words, seconds, lane / height)
        told = "; words over it where dynamic time warping puts them" if words else ""
        finish(figure, title, f"{caption}\n{_scale(strips, positions, opacity)}{told}", below=0.2)
    return figure


def _paint(
    axes: Axes,
    loudness: NDArray[np.uint8],
    seconds: float,
    positions: Positions,
    strip: Strip,
    opacity: float,
) -> None:
    bands = loudness.shape[0]
    axes.imshow(
        loudness * 0.75,
        cmap=LinearSegmentedColormap.from_list("loudness", [of_shade(PAPER), of_shade(INK)]),
        vmin=0,
        vmax=255,
        origin="lower",
        extent=(0, seconds, 0, bands),
        aspect="auto",
        interpolation="nearest",
    )
    there = ~np.isnan(positions.seconds[:, 0])
    spans, values = positions.seconds[there], strip.values[there]
    strongest = float(values.max(initial=0.0)) or 1.0
    low, high = _bands(positions, there, bands)
    for (start, end), value, bottom, top in zip(spans, values, low, high, strict=True):
        share = float(value) / strongest
        if share > 0.004 and start < seconds:  # fainter shades are invisible
            axes.fill_between(
                [start, min(end, seconds)], bottom, top, color=HEAT, alpha=share * opacity, lw=0
            )
    axes.set_xlim(0, seconds)
    axes.set_ylim(0, bands)
    heard = values[spans[:, 0] < seconds].sum()
    axes.set_title(
        f"{strip.title}   {heard:.0%} on the sound",
        fontsize=style.SMALL,
        color=of_shade(QUIET),
        pad=3,
    )


def _bands(
    positions: Positions, there: NDArray[np.bool_], bands: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The part of the height that each position covers: all of it, or its row of patches."""
    rows = positions.grid[there, 0]
    count = int(rows.max(initial=-1)) + 1
    if count < 1:
        return np.zeros(len(rows)), np.full(len(rows), float(bands))
    return rows * bands / count, (rows + 1) * bands / count


def _axis(axes: Axes, seconds: float, last: bool) -> None:
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xticks(np.arange(0, seconds, tick_step(seconds)))
    axes.tick_params(bottom=True, labelbottom=last, labelsize=style.TINY, length=2, width=0.5)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g} s")
    axes.tick_params(colors=of_shade(QUIET))


def tick_step(seconds: float) -> float:
    """Six to fifteen ticks, at round times."""
    for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60):
        if seconds / step <= 15:
            return float(step)
    return 120.0


def _lane(
    figure: Figure, words: Sequence[tuple[str, float, float]], seconds: float, share: float
) -> None:
    """Each word over its moments; a word without room is omitted, but not its bar."""
    axes = figure.add_axes((0, 1 - share * 0.75, 1, share * 0.75))
    axes.set_xlim(0, seconds)
    axes.set_ylim(0, 1)
    for word, start, end in words:
        axes.plot([start, end], [0.08, 0.08], color=of_shade(RULE), lw=1.4, solid_capstyle="butt")
        axes.plot([start, start], [0, 0.3], color=of_shade(QUIET), lw=0.5)
        if text_width(word, style.SMALL) <= (end - start) / seconds * WIDTH + 0.06:
            middle = (start + end) / 2
            axes.text(
                middle, 0.3, drawable(word), fontsize=style.SMALL, ha="center", color=of_shade(INK)
            )
    style.bare(axes)


def _scale(strips: Sequence[Strip], positions: Positions, opacity: float) -> str:
    there = ~np.isnan(positions.seconds[:, 0])
    most = [float(strip.values[there].max(initial=0.0)) for strip in strips]
    told = f"strongest moment {most[0]:.3f}" if len(most) == 1 else "strongest moment of each strip"
    return f"orange, opacity by weight: {told} at {opacity:.0%}"
