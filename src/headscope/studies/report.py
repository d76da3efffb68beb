"""A report: what a study found, as sections of text, tables, figures and live views.

A report must be complete in itself. `Report.save` writes one HTML page that opens
from disk without a network and carries the method, the versions and the command that made it;
`Report.tables` hands every table back as a data frame.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from headscope.errors import BadInput
from headscope.files import atomic_path

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

VERSIONED = ("headscope", "torch", "transformers", "numpy", "pandas")


@runtime_checkable
class Live(Protocol):
    """Anything that draws itself as a complete HTML page, such as the result of `head_view`."""

    def html(self) -> str: ...


@dataclass(frozen=True)
class Text:
    """Paragraphs, parted by blank lines; `code` and **strong** are the only marks."""

    text: str


@dataclass(frozen=True)
class Note:
    """A caveat the reader must not miss."""

    text: str


@dataclass(frozen=True)
class ReportTable:
    name: str
    frame: pd.DataFrame
    caption: str
    published: tuple[str, ...]  # columns that hold a paper's own numbers
    digits: int


@dataclass(frozen=True)
class Drawing:
    name: str
    figure: Figure
    caption: str


@dataclass(frozen=True)
class LiveView:
    name: str
    page: str  # a complete HTML page
    caption: str
    height: int


Piece = Text | Note | ReportTable | Drawing | LiveView


@dataclass
class Section:
    """One part of a report; every method adds a piece and returns the section."""

    title: str
    pieces: list[Piece] = field(default_factory=list[Piece])

    def text(self, text: str) -> Section:
        self.pieces.append(Text(text))
        return self

    def note(self, text: str) -> Section:
        self.pieces.append(Note(text))
        return self

    def table(
        self,
        name: str,
        frame: pd.DataFrame,
        caption: str = "",
        *,
        published: Sequence[str] = (),
        digits: int = 3,
    ) -> Section:
        """A table; `published` names the columns that quote a paper, which are set apart."""
        missing = [column for column in published if column not in frame.columns]
        if missing:
            raise BadInput(f"Table {name!r} has no column {missing[0]!r} to mark as published.")
        self.pieces.append(ReportTable(name, frame, caption, tuple(published), digits))
        return self

    def figure(self, name: str, figure: Figure, caption: str = "") -> Section:
        """A matplotlib figure, drawn into the page as SVG."""
        self.pieces.append(Drawing(name, figure, caption))
        return self

    def view(self, name: str, view: Live | str, caption: str = "", height: int = 420) -> Section:
        """A live view (or a complete HTML page as text), shown in a frame of its own."""
        page = view if isinstance(view, str) else view.html()
        self.pieces.append(LiveView(name, page, caption, height))
        return self


@dataclass
class Report:
    """What a study found. Sections come in the order they were added."""

    title: str
    study: str
    model: str
    command: str
    summary: str = ""
    method: str = ""
    sections: list[Section] = field(default_factory=list[Section])
    settings: dict[str, object] = field(default_factory=dict[str, object])
    made: datetime = field(default_factory=lambda: datetime.now(UTC))

    def section(self, title: str, text: str = "") -> Section:
        """A new section at the end, with a first paragraph if one is given."""
        section = Section(title)
        if text:
            section.text(text)
        self.sections.append(section)
        return section

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """Every table of the report by name."""
        found: dict[str, pd.DataFrame] = {}
        for piece in self._pieces():
            if isinstance(piece, ReportTable):
                if piece.name in found:
                    raise BadInput(f"Two tables of the report are called {piece.name!r}.")
                found[piece.name] = piece.frame
        return found

    @property
    def figures(self) -> dict[str, Figure]:
        """Every figure of the report by name."""
        return {piece.name: piece.figure for piece in self._pieces() if isinstance(piece, Drawing)}

    @property
    def versions(self) -> dict[str, str]:
        """What the numbers were made with."""
        found = {"python": platform.python_version()}
        for package in VERSIONED:
            try:
                found[package] = metadata.version(package)
            except metadata.PackageNotFoundError:
                continue
        return found

    def html(self) -> str:
        """The whole report as one page."""
        from headscope.studies.page import html_page

        return html_page(self)

    def save(self, path: str | Path) -> Path:
        """Write the page to `path`, whole or not at all."""
        target = check_page(path)
        text = self.html()
        with atomic_path(target) as temporary:
            Path(temporary).write_text(text, encoding="utf-8")
        return target

    def _pieces(self) -> list[Piece]:
        return [piece for section in self.sections for piece in section.pieces]


def check_page(path: str | Path) -> Path:
    """Said before the work is done, not when it is to be written."""
    target = Path(path)
    if target.suffix.lower() not in {".html", ".htm"}:
        raise BadInput(f"A report is an HTML page: give a name ending in .html, not {target}.")
    return target
