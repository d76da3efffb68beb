"""Views: one file each, a pure function from a reading to what any surface needs to show it.

A view is a file of this folder with a `NAME` (the file's own, and the page's name for it), `SHOWS`
(what is to be seen, in a line), a `build` function (the data for the page) and a `draw` function
(the figure for paper). It may have `OPTIONS` of its own (name: the values allowed, or a type), a
`BUNDLE` where its script is in web/src/more, and a `HEIGHT` (pixels in a notebook) where it shows
no text by which it could be told. Its function is `hs.NAME_view`; `hs.NAME` for one called
`head_…`.
`discover` finds them: public function, command, app, page and documentation follow from the file.
Other packages add such modules through the entry point group `headscope.views`; what they send is
shown by a view that the page knows, or drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headscope.views.shared.discovery import ViewModule, discover
from headscope.views.shared.labels import Label
from headscope.views.wire.container import ViewData
from headscope.views.wire.frame import Sending

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Label", "Sending", "ViewData", "ViewModule", "discover", "draw", "of_text"]


def of_text() -> tuple[str, ...]:
    """Views that any reading of a text fills; the others say in `NEEDS` what else they need."""
    return tuple(name for name, view in discover().items() if not hasattr(view, "NEEDS"))


def draw(
    name: str,
    source: Any,
    state: Mapping[str, Any],
    labels: Sequence[Label] = (),
    other: Any = None,
) -> Figure:
    """The figure of a view in a state."""
    from headscope.figures.colour import shaded

    more = {} if other is None else {"other": other}
    with shaded(state.get("theme", "light")):
        return discover()[name].draw(source, state, labels=labels, **more)
