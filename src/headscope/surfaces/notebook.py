"""A page inside a notebook: an iframe that contains the whole page.

It needs no extension, no network and no trust in the notebook's scripts. Views cannot disturb each
other, because each has its own document.
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
    """The frame, before its picture if given: untrusted notebooks remove frames, and the picture
    remains."""
    return render(
        "surfaces/notebook.html",
        page=page,
        height=height,
        picture=picture,
        alternative=alternative,
    )


def height_for(view: ViewData) -> int:
    """A height in pixels that shows the whole view, up to a limit; longer ones scroll."""
    parts = view.header["parts"]
    if not parts:
        return getattr(discover()[view.header["view"]], "HEIGHT", 520)
    rows_of = getattr(discover()[view.header["view"]], "rows", None)
    rows = longest(view) if rows_of is None else rows_of(parts)
    return min(_MOST, max(_LEAST, 230 + 24 * rows))


def longest(view: ViewData) -> int:
    """Tokens on the longest side of any part; 0 if a view shows no text."""
    parts = view.header["parts"]
    sides = [part[side] or part["query"] for part in parts for side in ("query", "key")]
    return max((len(side["text"]) for side in sides), default=0)


def picture(figure: Figure) -> str:
    """A figure as a PNG in base64, as notebooks store pictures."""
    written = io.BytesIO()
    figure.savefig(written, format="png", dpi=_DOTS)
    return base64.b64encode(written.getvalue()).decode("ascii")
