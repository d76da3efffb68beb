"""A report: a study's results as sections of text, tables, figures and live views.

A report must be complete in itself. `Report.save` writes one HTML page that opens from disk without
a network and contains the method, the versions and the command; `Report.tables` returns every table
as a data frame.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from headscope.errors import BadInput
from headscope.files import atomic_path
from headscope.studies.page import html_page
from headscope.studies.pieces import Drawing, Piece, ReportTable, Section

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

VERSIONED = ("headscope", "torch", "transformers", "numpy", "pandas")


@dataclass
class Report:
    """A study's results. Sections are in the order they were added."""

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
        """The versions that computed the numbers."""
        found = {"python": platform.python_version()}
        for package in VERSIONED:
            try:
                found[package] = metadata.version(package)
            except metadata.PackageNotFoundError:
                continue
        return found

    def html(self) -> str:
        """The whole report as one page."""
        return html_page(self)

    def save(self, path: str | Path) -> Path:
        """Write the page to `path`, completely or not at all."""
        target = check_page(path)
        text = self.html()
        with atomic_path(target) as temporary:
            Path(temporary).write_text(text, encoding="utf-8")
        return target

    def _pieces(self) -> list[Piece]:
        return [piece for section in self.sections for piece in section.pieces]


def check_page(path: str | Path) -> Path:
    """Raise an error for a bad path before the work begins."""
    target = Path(path)
    if target.suffix.lower() not in {".html", ".htm"}:
        raise BadInput(f"A report is an HTML page: give a name ending in .html, not {target}.")
    return target
