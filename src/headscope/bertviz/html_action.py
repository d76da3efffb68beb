"""BertViz's `html_action`: show the view now, or hand back the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headscope.errors import BadInput

if TYPE_CHECKING:
    from IPython.display import HTML

    from headscope.surfaces import View


def perform(view: View, html_action: str) -> HTML | None:
    """'view' displays; 'return' gives an HTML object whose `.data` is the complete page."""
    from IPython.display import HTML, display

    class Page(HTML):
        """A whole page, shown in a frame; `.data` is its HTML, to write to a file."""

        def _repr_html_(self) -> str:
            return view._repr_html_()  # pyright: ignore[reportPrivateUsage]

    if html_action == "view":
        display(view)
        return None
    if html_action == "return":
        return Page(view.html())
    raise BadInput(f"html_action is 'view' or 'return', not {html_action!r}.")
