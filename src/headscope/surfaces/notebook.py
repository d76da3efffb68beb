"""A page inside a notebook: an iframe that carries the whole page in itself.

It needs no extension, no network and no trust in the notebook's own scripts, and several views
cannot disturb each other: each has a document of its own.
"""

from __future__ import annotations

import html

from headscope.views import ViewData, discover

_LEAST, _MOST = 380, 720  # pixels


def frame(page: str, height: int) -> str:
    content = html.escape(page, quote=True)
    return (
        f'<iframe srcdoc="{content}" sandbox="allow-scripts allow-downloads" '
        'allow="clipboard-write" title="headscope" loading="eager" '
        f'style="width:100%;height:{height}px;border:0;display:block"></iframe>'
    )


def height_for(view: ViewData) -> int:
    """Pixels that show the view whole where that is reasonable; longer ones scroll inside."""
    parts = view.header["parts"]
    if not parts:
        return 520
    longest = max(
        max(len(p["query"]["text"]), len((p["key"] or p["query"])["text"])) for p in parts
    )
    rows_of = getattr(discover()[view.header["view"]], "rows", None)
    rows = longest if rows_of is None else rows_of(parts)
    return min(_MOST, max(_LEAST, 230 + 24 * rows))
