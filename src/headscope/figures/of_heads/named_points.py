"""Points with the name of their head, which a page's SVG shows on hover."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

import numpy as np
from matplotlib.collections import PathCollection

_MARK = "heads__"
_GROUP = re.compile(rf'<g id="([^"]*){_MARK}([^"]*)">')
_POINT = re.compile(r"(<use [^>]*)/>")


def name_points(points: PathCollection, names: Sequence[str]) -> None:
    """Name each point; points without a position are not drawn and need no name."""
    offsets = np.ma.filled(points.get_offsets(), np.nan)
    placed = [bool(np.isfinite(at).all()) for at in offsets]
    shown = [name for name, holds in zip(names, placed, strict=True) if holds]
    points.set_gid(_MARK + "__".join(shown))


def titled(svg: str) -> str:
    """The drawing with a title in every named point."""
    parts = _GROUP.split(svg)  # before, (prefix, names, the rest) …
    made = [parts[0]]
    for number, at in enumerate(range(1, len(parts), 3)):
        prefix, names, rest = parts[at : at + 3]
        left = iter(names.split("__"))
        count = names.count("__") + 1
        made.append(f'<g id="{prefix}points-{number}">')
        made.append(
            _POINT.sub(
                lambda use, left=left: f"{use[1]}><title>head {escape(next(left))}</title></use>",
                rest,
                count=count,
            )
        )
    return "".join(made)
