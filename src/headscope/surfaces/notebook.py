"""A page inside a notebook: an iframe that carries the whole page in itself.

It needs no extension, no network and no trust in the notebook's own scripts, and several views
cannot disturb each other: each has a document of its own.
"""

from __future__ import annotations

import base64
import html
import io
from typing import TYPE_CHECKING

from headscope.views import ViewData, discover

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEAST, _MOST = 380, 720  # pixels
_DOTS = 96  # an inch


def frame(page: str, height: int) -> str:
    content = html.escape(page, quote=True)
    return (
        f'<iframe srcdoc="{content}" sandbox="allow-scripts allow-downloads" '
        'allow="clipboard-write" title="headscope" loading="eager" '
        f'style="width:100%;height:{height}px;border:0;display:block;background:Canvas"></iframe>'
    )


def over_picture(framed: str, picture: str, alternative: str, height: int) -> str:
    """The frame in front of its picture: where frames are taken out, as in a notebook that is not
    trusted, the picture is left. One cell of a grid holds both."""
    place, said = "grid-area:1/1", html.escape(alternative, quote=True)
    return (
        f'<div style="display:grid"><img src="data:image/png;base64,{picture}" alt="{said}" '
        f'style="{place};max-width:100%;max-height:{height}px">'
        f'<div style="{place}">{framed}</div></div>'
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
