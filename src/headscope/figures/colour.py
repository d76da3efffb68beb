"""Colours of the house, made in OKLCH so that equal steps look equal.

The page computes the same colours from the same numbers: a figure and the page it came from
agree head by head.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import gcd

import numpy as np
from matplotlib.colors import ListedColormap
from numpy.typing import NDArray

Floats = NDArray[np.float64]

INK = "#1b1d22"
QUIET = "#666b75"
RULE = "#d9dce1"
PAPER = "#ffffff"
POSITIVE = "#1f5fd0"  # blue
NEGATIVE = "#d9680b"  # orange

# lightness, chroma, hue of each stop, from weight 0 to weight 1
_SEQUENTIAL = (
    (0.985, 0.004, 250.0),
    (0.80, 0.085, 235.0),
    (0.56, 0.13, 255.0),
    (0.28, 0.09, 275.0),
)
_NEGATIVE_ARM = ((0.985, 0.004, 60.0), (0.80, 0.11, 62.0), (0.62, 0.15, 50.0), (0.40, 0.11, 40.0))


def rgb_from_oklch(lightness: float, chroma: float, hue: float) -> Floats:
    """sRGB in 0..1; colours outside the gamut are clipped."""
    angle = np.deg2rad(hue)
    return rgb_from_oklab(np.array([[lightness, chroma * np.cos(angle), chroma * np.sin(angle)]]))[
        0
    ]


def rgb_from_oklab(lab: Floats) -> Floats:  # n 3 -> n 3
    cone = (
        lab
        @ np.array(
            [
                [1.0, 0.3963377774, 0.2158037573],
                [1.0, -0.1055613458, -0.0638541728],
                [1.0, -0.0894841775, -1.2914855480],
            ]
        ).T
    )
    linear = (
        cone**3
        @ np.array(
            [
                [4.0767416621, -3.3077115913, 0.2309699292],
                [-1.2684380046, 2.6097574011, -0.3413193965],
                [-0.0041960863, -0.7034186147, 1.7076147010],
            ]
        ).T
    )
    linear = np.clip(linear, 0.0, 1.0)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def head_colours(heads: int) -> list[str]:
    """As many hues as heads, the order permuted so that neighbours differ.

    Lightness takes three steps in turn: hue alone does not survive red-green colour blindness.
    """
    step = next(s for s in range(max(1, round(heads * 0.382)), heads + 2) if gcd(s, heads) == 1)
    colours: list[str] = []
    for head in range(heads):
        hue = 25.0 + 360.0 * ((head * step) % heads) / heads
        lightness = (0.55, 0.66, 0.48)[head % 3]
        colours.append(hexadecimal(rgb_from_oklch(lightness, 0.15, hue)))
    return colours


def hexadecimal(rgb: Floats) -> str:
    return "#" + "".join(f"{round(float(channel) * 255):02x}" for channel in rgb)


def _ramp(stops: Sequence[tuple[float, float, float]], count: int = 256) -> Floats:
    angles = [np.deg2rad(hue) for _, _, hue in stops]
    lab = np.array(
        [
            [light, chroma * np.cos(a), chroma * np.sin(a)]
            for (light, chroma, _), a in zip(stops, angles, strict=True)
        ]
    )
    at = np.linspace(0, len(stops) - 1, count)
    channels = [np.interp(at, np.arange(len(stops)), lab[:, channel]) for channel in range(3)]
    return rgb_from_oklab(np.stack(channels, axis=1))


@lru_cache
def sequential() -> ListedColormap:
    """Light to dark: weights and statistics."""
    return ListedColormap(_ramp(_SEQUENTIAL), name="headscope")


@lru_cache
def diverging() -> ListedColormap:
    """Orange below zero, white at zero, blue above."""
    return ListedColormap(
        np.vstack([_ramp(_NEGATIVE_ARM)[::-1], _ramp(_SEQUENTIAL)]), name="headscope_signed"
    )
