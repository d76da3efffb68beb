"""Colours of the house, made in OKLCH so that equal steps look equal.

The page computes the same colours by the same rules (web/src/render): a figure and the page it
came from agree head by head.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from math import cos, inf, pi, radians, sin
from typing import Literal

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
_DARK = {
    INK: "#edeef0",
    QUIET: "#a3abb6",
    RULE: "#31363d",
    PAPER: "#171a1e",
    POSITIVE: "#6ea4f4",
    NEGATIVE: "#e58a3c",
}
_shade: ContextVar[Literal["light", "dark"]] = ContextVar("shade", default="light")

# lightness steps and chroma of the heads' colours: 3:1 against the paper at every hue
_TONES = {"light": ((0.64, 0.5, 0.36), 0.15), "dark": ((0.82, 0.69, 0.56), 0.13)}

_CONE_FROM_LAB = np.array(
    [
        [1.0, 0.3963377774, 0.2158037573],
        [1.0, -0.1055613458, -0.0638541728],
        [1.0, -0.0894841775, -1.2914855480],
    ]
)
_RGB_FROM_CONE = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)
# how full dichromats see linear light: Machado, Oliveira and Fernandes (2009)
_DEFICIENCIES = np.array(
    [
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.01182, 0.04294, 0.968881],
        ],
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.3039],
        ],
    ]
)


def rgb_from_oklch(lightness: float, chroma: float, hue: float) -> Floats:
    """sRGB in whole steps of 1/255; chroma is lowered until the colour can be shown."""
    while True:
        lab = np.array([lightness, chroma * cos(radians(hue)), chroma * sin(radians(hue))])
        linear = _RGB_FROM_CONE @ (_CONE_FROM_LAB @ lab) ** 3
        if chroma == 0 or ((linear >= -0.0005) & (linear <= 1.0005)).all():
            return _stepped(_gamma(np.clip(linear, 0.0, 1.0)))
        chroma = max(0.0, chroma - 0.004)


def _gamma(linear: Floats) -> Floats:
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def _linear(rgb: Floats) -> Floats:
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def _stepped(rgb: Floats) -> Floats:
    return np.floor(rgb * 255 + 0.5) / 255


def oklab_from_rgb(rgb: Floats) -> Floats:  # n 3 -> n 3
    cones = np.cbrt(_linear(rgb) @ np.linalg.inv(_RGB_FROM_CONE).T)
    return cones @ np.linalg.inv(_CONE_FROM_LAB).T


def seen_by_all(wheel: Floats) -> list[Floats]:
    """The colours as they are, and as each common deficiency shows them. n 3 each."""
    linear = _linear(wheel)
    return [wheel, *(_stepped(_gamma(np.clip(linear @ m.T, 0, 1))) for m in _DEFICIENCIES)]


@contextmanager
def shaded(theme: str) -> Generator[None]:
    """Draw for a dark background inside, if the theme is dark; print is light."""
    token = _shade.set("dark" if theme == "dark" else "light")
    try:
        yield
    finally:
        _shade.reset(token)


def of_shade(colour: str) -> str:
    """A house colour for the current background."""
    return _DARK[colour] if _shade.get() == "dark" else colour


def head_colours(heads: int) -> tuple[str, ...]:
    """A colour per head, in an order whose neighbours differ clearly to any eye."""
    return _head_colours(heads, _shade.get())


@lru_cache
def _head_colours(heads: int, shade: str) -> tuple[str, ...]:
    """A head has the same hue and lightness rank on both backgrounds, chosen for the light one."""
    steps, light = _wheel(heads)
    levels, chroma = _TONES[shade]
    wheel = [
        rgb_from_oklch(levels[step], chroma, 255 + 360 * i / heads) for i, step in enumerate(steps)
    ]
    apart = _apart(light)
    return tuple(_hexadecimal(wheel[at]) for at in _mended(_greedy(apart), apart))


def _wheel(heads: int) -> tuple[list[int], Floats]:
    """Evenly spaced hues; each takes the lightness step farthest from the colours before it,
    because red-green blindness still sees light and dark."""
    levels, chroma = _TONES["light"]
    steps: list[int] = []
    chosen: list[Floats] = []
    for i in range(heads):
        tried = [rgb_from_oklch(level, chroma, 255 + 360 * i / heads) for level in levels]
        nearest = [round(_nearest(one, chosen), 6) for one in tried]
        steps.append(nearest.index(max(nearest)))
        chosen.append(tried[steps[-1]])
    return steps, np.stack(chosen)


def _nearest(colour: Floats, others: list[Floats]) -> float:
    return float(_apart(np.stack([colour, *others]))[0, 1:].min()) if others else 0.0


def _apart(wheel: Floats) -> Floats:  # n 3 -> n n
    """The distance of two colours, to the eye that distinguishes them least."""
    lab = np.stack([oklab_from_rgb(colours) for colours in seen_by_all(wheel)])  # sights n 3
    return np.linalg.norm(lab[:, :, None] - lab[:, None, :], axis=-1).min(axis=0)


def _greedy(apart: Floats) -> list[int]:
    """An order in which each colour is the farthest from the one before."""
    order, left = [0], list(range(1, len(apart)))
    while left:
        nearest = apart[order[-1]]
        farthest = max(left, key=lambda each: (nearest[each], -each))
        order.append(farthest)
        left.remove(farthest)
    return order


def _mended(order: list[int], apart: Floats) -> list[int]:
    """The greedy order has poor neighbours at its end: swap the weakest pair while that helps."""
    count = len(order)

    def gap(at: int) -> float:
        return float(apart[order[at - 1], order[at]]) if 0 < at < count else inf

    def swap(one: int, two: int) -> None:
        order[one], order[two] = order[two], order[one]

    for _ in range(4 * count if count > 1 else 0):
        weakest = min(range(1, count), key=gap)
        best, most = None, gap(weakest)
        for one in (weakest - 1, weakest):
            for two in range(count):
                if one == two:
                    continue
                swap(one, two)
                value = min(gap(one), gap(one + 1), gap(two), gap(two + 1))
                swap(one, two)
                if value > most + 1e-9:
                    best, most = (one, two), value
        if best is None:
            break
        swap(*best)
    return order


def _hexadecimal(rgb: Floats) -> str:
    return "#" + "".join(f"{round(float(channel) * 255):02x}" for channel in rgb)


_GROUND = {"light": np.ones(3), "dark": np.array([23, 26, 30]) / 255}


def sequential() -> ListedColormap:
    """Paper to deep blue (dark: to pale), lightness in equal steps: weights and statistics."""
    return _ramp("sequential", _shade.get())


def diverging() -> ListedColormap:
    """Orange below zero, paper at zero, blue above."""
    return _ramp("diverging", _shade.get())


@lru_cache
def _ramp(name: str, shade: str) -> ListedColormap:
    make = _sequential if name == "sequential" else _signed
    ramp = [make(i / 255, shade) for i in range(256)]
    if name == "sequential":
        ramp[0] = _GROUND[shade]
    return ListedColormap(np.stack(ramp), name=f"headscope_{name}_{shade}")


def _sequential(x: float, shade: str) -> Floats:
    if shade == "dark":
        chroma = 0.115 * sin(pi * min(1.0, 0.06 + 0.86 * x))
        return rgb_from_oklch(0.22 + (0.96 - 0.22) * x, chroma, 268 - 43 * x)
    chroma = 0.125 * sin(pi * min(1.0, 0.12 + 0.75 * x))
    return rgb_from_oklch(0.99 + (0.27 - 0.99) * x, chroma, 220 + 55 * x)


def _signed(x: float, shade: str) -> Floats:
    strength = abs(2 * x - 1)
    if strength < 1 / 255:
        return _GROUND[shade]
    hue = 255.0 if x > 0.5 else 55.0
    lightness = 1 - 0.5 * strength if shade == "light" else 0.215 + (0.74 - 0.215) * strength
    return rgb_from_oklch(lightness, 0.15 * min(1.0, strength * 1.4), hue)
