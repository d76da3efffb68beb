"""Tokens on a figure: words dark, specials small and grey, pieces joined, a gap between A and B."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from headscope.figures import style
from headscope.figures.colour import INK, QUIET, RULE, of_shade
from headscope.figures.fonts import drawable

LONGEST = 24  # characters of one token
HAIRLINE = {"arrowstyle": "-", "shrinkA": 0, "shrinkB": 0}


@dataclass(frozen=True)
class TokenLine:
    """One side's tokens. classes: 0 CLS, 1 SEP, 2 other special, 3 punctuation, 4 word."""

    text: Sequence[str]
    classes: Sequence[int] = ()
    segments: Sequence[int] = ()
    continues: Sequence[bool] = ()
    crops: Sequence[Crop | None] = ()  # each patch's piece of the picture
    labels: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        shown = tuple(_shortened(drawable(token)) for token in self.text)
        object.__setattr__(self, "labels", shown)

    def __len__(self) -> int:
        return len(self.text)

    def special(self, at: int) -> bool:
        return bool(self.classes) and self.classes[at] <= 2

    def piece(self, at: int) -> bool:
        return bool(self.continues) and bool(self.continues[at])

    def boundary(self, at: int) -> bool:
        """Sentence B starts at this token."""
        return bool(self.segments) and at > 0 and self.segments[at] != self.segments[at - 1]


def _shortened(token: str) -> str:
    if not token.strip():
        return "␣" * max(1, len(token))
    return token if len(token) <= LONGEST else token[: LONGEST - 1] + "…"


def column(
    axes: Axes, tokens: TokenLine, x: float, side: str, size: float, *, faint: bool = False
) -> None:
    """Draw tokens at y = 0, 1, 2, … (downwards); side: 'left' or 'right' of x."""
    toward = -1 if side == "left" else 1
    step = label_step(len(tokens))
    crop = crop_size(tokens, row_height(len(tokens)))
    if crop:
        strip_beside(axes, tokens.crops, side, crop)
    away = 5 + 72 * (crop + GAP) * (crop > 0)
    for at, label in enumerate(tokens.labels):
        if at % step:
            continue
        special = tokens.special(at)
        axes.annotate(
            label,
            (x, at),
            xytext=(toward * away, 0),
            textcoords="offset points",
            ha="right" if side == "left" else "left",
            va="center",
            fontsize=size * (0.85 if special else 1.0),
            color=of_shade(QUIET) if special or faint else of_shade(INK),
            parse_math=False,
            annotation_clip=False,
        )
        if tokens.piece(at):  # a hairline joins the pieces of a word
            axes.annotate(
                "",
                (x, at - 1.3),
                xytext=(x, at + 0.3),
                xycoords="data",
                textcoords="data",
                arrowprops={**HAIRLINE, "color": of_shade(QUIET), "lw": 0.7},
                annotation_clip=False,
            )
        if tokens.boundary(at):
            axes.annotate(
                "",
                (x, at - 0.5),
                xytext=(toward * 38, 0),
                textcoords="offset points",
                arrowprops={**HAIRLINE, "color": of_shade(RULE), "lw": 0.8},
                annotation_clip=False,
            )


def crop_size(tokens: TokenLine, room: float) -> float:
    """Inches of a crop beside a name; 0 without crops, or if it would be too small to see."""
    return room if any(each is not None for each in tokens.crops) and room >= SMALLEST else 0.0


SMALLEST = 0.08  # inches of a crop
TALLEST = 14.0  # inches: a longer text is denser, and only some of its tokens are named


def row_height(count: int) -> float:
    """Inches from one token to the next: long texts are denser."""
    return 0.17 if count <= 48 else 0.13 if count <= 128 else min(0.10, TALLEST / count)


def label_step(count: int) -> int:
    """Every token is named if letters fit, else every n-th."""
    return 1 if count <= TALLEST / 0.10 else ceil(0.10 / row_height(count))


def ordinal(number: int) -> str:
    ending = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def font_size(count: int) -> float:
    return style.BODY + 0.5 if count <= 48 else style.SMALL if count <= 128 else style.TINY - 0.5


# Patches as small squares beside their names: one strip of pixels along an axis.

SIDE, EDGE = 24, 1  # pixels of a crop on the strip, and of the margin around it
GAP = 2 / 72  # inches between a strip and the axes

Crop = NDArray[np.uint8]  # SIDE SIDE 3


def crop(picture: NDArray[np.uint8], rectangle: NDArray[np.floating]) -> Crop:
    """A rectangle (left, top, right, bottom) of a picture as a square."""
    left, top, right, bottom = rectangle.tolist()
    share = (np.arange(SIDE) + 0.5) / SIDE
    rows = np.clip(top + share * (bottom - top), 0, picture.shape[0] - 1).astype(int)
    columns = np.clip(left + share * (right - left), 0, picture.shape[1] - 1).astype(int)
    return picture[rows[:, None], columns[None, :], :3]


def strip_beside(axes: Axes, crops: Sequence[Crop | None], side: str, inches: float) -> None:
    """Squares along one side of the axes (left, right or top), where 0, 1, 2, … are."""
    strip = np.zeros((len(crops), SIDE, SIDE, 4), np.uint8)
    for at, each in enumerate(crops):
        if each is not None:
            strip[at, EDGE:-EDGE, EDGE:-EDGE, :3] = each[EDGE:-EDGE, EDGE:-EDGE]
            strip[at, EDGE:-EDGE, EDGE:-EDGE, 3] = 255
    box = axes.get_window_extent()
    wide, high = box.width / axes.figure.dpi, box.height / axes.figure.dpi
    first, last = -0.5, len(crops) - 0.5
    if side == "top":
        room = axes.inset_axes((0, 1 + GAP / high, 1, inches / high))
        pixels, extent = np.concatenate([*strip], axis=1), (first, last, 0.0, 1.0)
        limits = axes.get_xlim(), (0.0, 1.0)
    else:
        left = -(inches + GAP) / wide if side == "left" else 1 + GAP / wide
        room = axes.inset_axes((left, 0, inches / wide, 1))
        pixels, extent = np.concatenate([*strip], axis=0), (0.0, 1.0, last, first)
        limits = (0.0, 1.0), axes.get_ylim()
    room.imshow(pixels, extent=extent, aspect="auto", interpolation="nearest")
    room.set(xlim=limits[0], ylim=limits[1])
    room.axis("off")
