"""What a report shows to its reader, and which of it is an identifier."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headscope.studies.page import in_words
from headscope.studies.pieces import Drawing, Note, ReportTable, Text
from headscope.studies.report import Report

IDENTIFIER = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")


def identifiers(report: Report) -> set[str]:
    """Names of variables among titles, captions, columns, cells and the words of figures."""
    return {found for shown in _shown(report) for found in IDENTIFIER.findall(shown)}


def _shown(report: Report) -> Iterator[str]:
    for section in report.sections:
        yield section.title
        for piece in section.pieces:
            match piece:
                case Text(text) | Note(text):
                    yield text
                case ReportTable(frame=frame, caption=caption):
                    yield caption
                    yield from (in_words(str(column)) for column in frame.columns)
                    yield from (one for one in frame.to_numpy().ravel() if isinstance(one, str))
                case Drawing(figure=figure, caption=caption):
                    yield caption
                    yield from (text.get_text() for text in figure.findobj(_is_text))
                case _:
                    yield piece.caption


def _is_text(artist: object) -> bool:
    return hasattr(artist, "get_text")
