"""The object that a view's function returns: displays in notebooks, saves pages and figures."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.checked import checked_methods
from headscope.errors import BadInput
from headscope.files import atomic_path
from headscope.surfaces import notebook
from headscope.surfaces.page import page
from headscope.surfaces.tour import read_tour
from headscope.views import Sending, ViewData, discover, draw
from headscope.views.shared.labels import as_labels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from headscope.reading import Reading
    from headscope.surfaces.widget import Widget

FIGURES = ("svg", "png", "pdf")
MOST_DRAWN = 128  # tokens; a picture of more would take too long in a notebook


@checked_methods
class View:
    """One view of one reading, with its selection."""

    def __init__(
        self, name: str, source: Any, sending: Sending, selection: Mapping[str, Any]
    ) -> None:
        self.name = name
        self.source: Reading = source
        self._sending = sending
        self._selection = dict(selection)
        self.data  # noqa: B018  builds now, so that misuse is said where the call stands

    @cached_property
    def data(self) -> ViewData:
        """Header and buffers, in the form sent to the browser."""
        return discover()[self.name].build(self.source, sending=self._sending, **self._selection)

    @property
    def state(self) -> dict[str, Any]:
        """The opening state: kind, layer, heads, tokens, filters."""
        return dict(self.data.header["state"])

    def html(self, tour: str | os.PathLike[str] | None = None) -> str:
        """A complete page that opens from disk without a network, optionally with a tour."""
        return page(self.data, tour=() if tour is None else read_tour(tour))

    def figure(self) -> Figure:
        """The same picture as a matplotlib figure, made without a browser."""
        return draw(
            self.name,
            self.source,
            {"theme": self._sending.theme, **self.state},
            labels=as_labels(self._sending.labels, self.state.get("kind", "encoder")),
            other=self._selection.get("other"),
        )

    def save(
        self, path: str | os.PathLike[str], tour: str | os.PathLike[str] | None = None
    ) -> Path:
        """Write .html, .svg, .png or .pdf, by the path's ending; a page may include a tour."""
        target = Path(path)
        kind = target.suffix.lstrip(".").lower()
        if kind not in ("html", "htm", *FIGURES):
            raise BadInput(f"{target.name} should end in .html, .svg, .png or .pdf.")
        if tour is not None and kind in FIGURES:
            raise BadInput(f"A {kind} figure shows one state; save a page (.html) for a tour.")
        with atomic_path(target) as temporary:
            if kind in FIGURES:
                from headscope.figures import save

                save(self.figure(), temporary, kind)
            else:
                temporary.write_text(self.html(tour), "utf-8")
        return target

    def widget(self) -> Widget:
        """A live widget: its selection can be read and set from Python, layers come as needed."""
        from headscope.surfaces.widget import Widget

        return Widget(self.name, self.source, self._sending, self._selection)

    def _repr_html_(self) -> str:
        return notebook.framed(self.html(), notebook.height_for(self.data))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        height, picture = notebook.height_for(self.data), ""
        shown = {"text/plain": repr(self)}
        if notebook.longest(self.data) <= MOST_DRAWN:
            # for places that show no page: exports to PDF, slides, untrusted notebooks
            picture = shown["image/png"] = notebook.picture(self.figure())
        shown["text/html"] = notebook.framed(self.html(), height, picture, repr(self))
        return shown

    def __repr__(self) -> str:
        caption = self.data.header.get("caption", "")
        return f"<{self.name} view · {caption}; .save('view.html') or .save('view.svg') keeps it>"
