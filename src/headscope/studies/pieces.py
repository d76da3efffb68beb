"""The pieces of a report's section: text, tables, figures and live views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from headscope.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@runtime_checkable
class Live(Protocol):
    """Anything that draws itself as a complete HTML page, such as the result of `head_view`."""

    def html(self) -> str: ...


@dataclass(frozen=True)
class Text:
    """Paragraphs, separated by blank lines; `code` and **strong** are the only markup."""

    text: str


@dataclass(frozen=True)
class Note:
    """A prominent caveat."""

    text: str


@dataclass(frozen=True)
class ReportTable:
    name: str
    frame: pd.DataFrame
    caption: str
    published: tuple[str, ...]  # columns with a paper's own numbers
    digits: int


@dataclass(frozen=True)
class Drawing:
    name: str
    figure: Figure
    caption: str


@dataclass(frozen=True)
class Frames:
    """Figures of one kind, one at a time, with a slider between them."""

    name: str
    figures: dict[str, Figure]  # by their names on the slider
    caption: str


@dataclass(frozen=True)
class LiveView:
    name: str
    page: str  # a complete HTML page
    caption: str
    height: int


Piece = Text | Note | ReportTable | Drawing | Frames | LiveView


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
        """A table; `published` names the columns that quote a paper, which look different."""
        missing = [column for column in published if column not in frame.columns]
        if missing:
            raise BadInput(f"Table {name!r} has no column {missing[0]!r} to mark as published.")
        self.pieces.append(ReportTable(name, frame, caption, tuple(published), digits))
        return self

    def figure(self, name: str, figure: Figure, caption: str = "") -> Section:
        """A matplotlib figure, drawn into the page as SVG."""
        self.pieces.append(Drawing(name, figure, caption))
        return self

    def frames(self, name: str, figures: dict[str, Figure], caption: str = "") -> Section:
        """Figures one at a time, with a slider; the last one is shown first."""
        self.pieces.append(Frames(name, figures, caption))
        return self

    def view(self, name: str, view: Live | str, caption: str = "", height: int = 420) -> Section:
        """A live view (or a complete HTML page as text), shown in a frame of its own."""
        page = view if isinstance(view, str) else view.html()
        self.pieces.append(LiveView(name, page, caption, height))
        return self
