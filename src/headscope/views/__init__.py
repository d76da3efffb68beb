"""Views: one file each, with a pure function from a reading to the data for any surface.

A view is a file of this folder with a `NAME` (the file's own, and the page's name for it), `SHOWS`
(one line of description), a `build` function (the data for the page) and a `draw` function (the
figure for paper). It may have its own `OPTIONS` (name: the allowed values, or a type), a `BUNDLE`
if its script is in web/src/more, and a `HEIGHT` (pixels in a notebook) if it shows no text that
determines it. Its function is `hs.NAME_view`; `hs.NAME` for one called `head_…`. `discover` finds
them: public function, command, app, page and documentation follow from the file. Other packages add
such modules through the entry point group `headscope.views`; a view that the page knows shows their
data, or a figure does.
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
    """Views that work for any reading of a text; other views name their requirements in `NEEDS`."""
    return tuple(name for name, view in discover().items() if not hasattr(view, "NEEDS"))


def draw(
    name: str,
    source: Any,
    state: Mapping[str, Any],
    labels: Sequence[Label] = (),
    other: Any = None,
) -> Figure:
    """The figure of a view in a given state."""
    from headscope.figures.colour import shaded

    more = {} if other is None else {"other": other}
    with shaded(state.get("theme", "light")):
        return discover()[name].draw(source, state, labels=labels, **more)
