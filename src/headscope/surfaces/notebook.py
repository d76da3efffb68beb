"""A page inside a notebook: an iframe that carries the whole page in itself.

It needs no extension, no network and no trust in the notebook's own scripts, and several views
cannot disturb each other: each has a document of its own.
"""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING

from headscope.surfaces.html import render
from headscope.views import ViewData, discover

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEAST, _MOST = 380, 720  # pixels
_DOTS = 96  # an inch


def framed(page: str, height: int, picture: str = "", alternative: str = "") -> str:
    """The frame, in front of its picture if one is given: notebooks that are not trusted take
    frames out, and the picture is left."""
    return render(
        "surfaces/notebook.html",
        page=page,
        height=height,
        picture=picture,
        alternative=alternative,
    )


def height_for(view: ViewData) -> int:
    """Pixels that show the view whole where that is reasonable; longer ones scroll inside."""
    parts = view.header["parts"]
    if not parts:
        return getattr(discover()[view.header["view"]], "HEIGHT", 520)
    rows_of = getattr(discover()[view.header["view"]], "rows", None)
    rows = longest(view) if rows_of is None else rows_of(parts)
    return min(_MOST, max(_LEAST, 230 + 24 * rows))


def longest(view: ViewData) -> int:
    """Tokens on the longest side of any part; none where a view shows no text."""
    parts = view.header["parts"]
    sides = [part[side] or part["query"] for part in parts for side in ("query", "key")]
    return max((len(side["text"]) for side in sides), default=0)


def picture(figure: Figure) -> str:
    """A figure as a PNG in base64, as notebooks keep pictures."""
    written = io.BytesIO()
    figure.savefig(written, format="png", dpi=_DOTS)
    return base64.b64encode(written.getvalue()).decode("ascii")
