"""A report as one HTML page: no network, light and dark, text always escaped."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from markupsafe import Markup, escape

from headscope.studies.pieces import Drawing, Frames, LiveView, Note, Piece, ReportTable, Text
from headscope.surfaces.html import digest, render

if TYPE_CHECKING:
    import pandas as pd

    from headscope.studies.report import Report

_SCRIPTS = re.compile(r"<script(?![^>]*(?:application/|src=))[^>]*>(.*?)</script>", re.S)
_STYLES = re.compile(r"<style[^>]*>(.*?)</style>", re.S)
_KINDS: dict[type, str] = {
    Text: "text", Note: "note", Drawing: "drawing", Frames: "frames", LiveView: "view",
}  # fmt: skip


def html_page(report: Report) -> str:
    """The report as a complete page."""
    here = Path(__file__).parent
    style, script = ((here / f"report.{end}").read_text("utf-8") for end in ("css", "js"))
    pieces = [piece for section in report.sections for piece in section.pieces]
    drawn = {one.name: _svg(one) for piece in pieces for one in _drawings(piece)}
    pages = [piece.page for piece in pieces if isinstance(piece, LiveView)]
    own = f"<style>{style}</style><script>{script}</script>"
    return render(
        "studies/report.html",
        {"inline": _inline, "paragraphs": _paragraphs},
        policy=policy([own, *drawn.values(), *pages]),
        style=style,
        script=script,
        report=report,
        drawn=drawn,
        sections=[
            {
                "title": section.title,
                "anchor": _anchor(at, section.title),
                "groups": list(_groups(section.pieces)),
            }
            for at, section in enumerate(report.sections)
        ],
    )


def policy(pages: Sequence[str]) -> str:
    """Scripts and styles are allowed by hash, including the views', because their frames inherit
    this policy. Style attributes, which figures use a lot, run no code."""
    scripts = sorted({digest(text) for page in pages for text in _SCRIPTS.findall(page)})
    styles = sorted({digest(text) for page in pages for text in _STYLES.findall(page)})
    return (
        f"default-src 'none'; script-src {' '.join(scripts)}; style-src {' '.join(styles)}; "
        "style-src-attr 'unsafe-inline'; img-src data: blob:; frame-src 'self'; "
        "base-uri 'none'; form-action 'none'"
    )


def _groups(pieces: Sequence[Piece]) -> Iterator[list[tuple[str, Any]]]:
    """Pieces one by one; consecutive figures are side by side if they fit."""
    for is_drawing, run in groupby(pieces, lambda piece: isinstance(piece, Drawing)):
        shown = [
            ("table", _table(piece))
            if isinstance(piece, ReportTable)
            else (_KINDS[type(piece)], piece)
            for piece in run
        ]
        yield from [shown] if is_drawing else ([one] for one in shown)


def _table(table: ReportTable) -> dict[str, Any]:
    """Cells as text, with classes for numbers and for a paper's own numbers."""
    names = [str(column) for column in table.frame.columns]
    numeric = {name for name in names if cast("pd.Series", table.frame[name]).dtype.kind in "iufc"}
    kinds = [
        " ".join(["number"] * (name in numeric) + ["published"] * (name in table.published))
        for name in names
    ]
    rows = table.frame.itertuples(index=False, name=None)
    return {
        "name": table.name,
        "caption": table.caption,
        "label": re.sub(r"[`*]", "", table.caption) or table.name,
        "columns": list(zip(map(in_words, names), kinds, strict=True)),
        "rows": [
            [(_cell(value, table.digits), kind) for value, kind in zip(row, kinds, strict=True)]
            for row in rows
        ],
    }


_TITLES = {"p_holm": "p, Holm", "p_bh": "p, Benjamini–Hochberg", "uas": "UAS"}


def in_words(column: str) -> str:
    """A column's title: tables keep the names that Python has."""
    return _TITLES.get(column, column.replace("_", " "))


def _cell(value: object, digits: int) -> str:
    if value is None or value != value:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)


def _paragraphs(text: str) -> Markup:
    parts = (part for part in re.split(r"\n\s*\n", text) if part.strip())
    return Markup("").join(Markup("<p>{}</p>").format(_inline(part)) for part in parts)


def _inline(text: str) -> Markup:
    """`code` and **strong** are the only markup; everything else is text."""
    safe = str(escape(text.strip()))
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    return Markup(re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", safe))


def _anchor(index: int, title: str) -> str:
    return f"s{index}-" + re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _drawings(piece: Piece) -> list[Drawing]:
    if isinstance(piece, Frames):
        return [Drawing(f"{piece.name} {name}", one, "") for name, one in piece.figures.items()]
    return [piece] if isinstance(piece, Drawing) else []


def _svg(piece: Drawing) -> Markup:
    import matplotlib as mpl

    from headscope.figures.of_heads.named_points import titled

    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": piece.name}):
        piece.figure.savefig(
            buffer, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None}
        )
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    # ids must be unique on the page
    text = titled(text)
    prefix = re.sub(r"[^A-Za-z0-9]+", "-", piece.name) + "-"
    text = re.sub(r'\bid="', f'id="{prefix}', text)
    text = re.sub(r'href="#', f'href="#{prefix}', text)
    return Markup(re.sub(r"url\(#", f"url(#{prefix}", text))
