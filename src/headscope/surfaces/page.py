"""A view, or several, as one complete HTML page: no network, opens from disk, strict policy.

Header and buffers are in data blocks that browsers do not run; the policy allows only one script,
by its hash. Tokens are always data, never markup.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence

import msgspec

from headscope.surfaces.bundle import bundle
from headscope.surfaces.html import digest, render
from headscope.surfaces.tour import Step
from headscope.views import ViewData, discover

_STYLE = """:root{color-scheme:light dark}
html,body{margin:0;height:100%}
body{font-family:system-ui,sans-serif}
main{min-height:100%}
h1{position:absolute;width:1px;height:1px;margin:0;overflow:hidden;clip-path:inset(50%)}
[data-headscope]{min-height:100%}
[data-headscope]+[data-headscope]{margin-top:24px}
noscript{display:block;padding:16px}"""


def page(
    views: ViewData | Sequence[ViewData], title: str | None = None, tour: Sequence[Step] = ()
) -> str:
    """The page as text; a tour steps through states of its views."""
    shown = [views] if isinstance(views, ViewData) else list(views)
    name = title or str(shown[0].header.get("caption") or "headscope")
    script = bundle(*needed(shown))
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {digest(script)}",
            f"style-src {digest(_STYLE)}",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    return render(
        "surfaces/page.html",
        policy=policy,
        style=_STYLE,
        script=script,
        title=name,
        tour=msgspec.json.encode(list(tour)).decode().replace("<", "\\u003c") if tour else "",
        views=[element(view) for view in shown],
    )


def needed(views: Iterable[ViewData]) -> tuple[str, ...]:
    """The further scripts for the views that these data open or offer (`BUNDLE` of a view)."""
    names: set[str] = set()
    for view in views:
        names |= {view.header["view"], *view.header.get("views", [])}
        names |= {"image"} if view.header.get("pictures") else set()
        names |= {"sound"} if view.header.get("sound") else set()
    found = discover()
    scripts = {getattr(found[name], "BUNDLE", None) for name in names if name in found}
    return tuple(sorted(name for name in scripts if name))


def element(view: ViewData) -> str:
    """The element the script mounts: the header and the buffers as data blocks."""
    header = view.header_json().replace("<", "\\u003c")
    buffers = {name: base64.b64encode(data).decode("ascii") for name, data in view.buffers.items()}
    return render("surfaces/element.html", header=header, buffers=buffers)
