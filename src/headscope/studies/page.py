"""A report as one HTML page: no network, light and dark, text always escaped."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, cast

from headscope.studies.pieces import Drawing, LiveView, Note, Piece, ReportTable, Text
from headscope.surfaces.html import digest

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from headscope.studies.report import Report

_SCRIPTS = re.compile(r"<script(?![^>]*(?:application/|src=))[^>]*>(.*?)</script>", re.S)
_STYLES = re.compile(r"<style[^>]*>(.*?)</style>", re.S)


def policy(pages: Iterable[str]) -> str:
    """Scripts and styles are known by their hashes, those of the views too: they arrive as frames,
    and frames inherit this policy. Style attributes, which figures are full of, run nothing."""
    listed = list(pages)
    scripts = sorted({digest(text) for page in listed for text in _SCRIPTS.findall(page)})
    styles = sorted({digest(text) for page in listed for text in _STYLES.findall(page)})
    return (
        f"default-src 'none'; script-src {' '.join(scripts)}; style-src {' '.join(styles)}; "
        "style-src-attr 'unsafe-inline'; img-src data: blob:; frame-src 'self'; "
        "base-uri 'none'; form-action 'none'"
    )


STYLE = """
:root{color-scheme:light dark;--ink:#1c1c1e;--quiet:#5f6368;--line:#dadce0;--ground:#fff;
--raised:#f6f7f8;--accent:#0b57d0}
@media (prefers-color-scheme:dark){:root:not([data-theme=light]){--ink:#e8e8ea;--quiet:#a3a7ad;
--line:#3a3d42;--ground:#131416;--raised:#1d1f22;--accent:#8ab4f8}
:root:not([data-theme=light]) .drawing svg{filter:invert(.93) hue-rotate(180deg)}}
:root[data-theme=dark]{color-scheme:dark;--ink:#e8e8ea;--quiet:#a3a7ad;--line:#3a3d42;
--ground:#131416;--raised:#1d1f22;--accent:#8ab4f8}
:root[data-theme=dark] .drawing svg{filter:invert(.93) hue-rotate(180deg)}
:root[data-theme=light]{color-scheme:light}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
.sheet{display:grid;grid-template-columns:13rem minmax(0,56rem);gap:3rem;max-width:76rem;
margin:0 auto;padding:2.5rem 1.5rem 6rem}
nav{position:sticky;top:2.5rem;align-self:start;max-height:90vh;overflow:auto;font-size:.86rem}
nav a{display:block;padding:.22rem 0;color:var(--quiet);text-decoration:none}
nav a:hover{color:var(--accent)}
nav button{margin-top:1rem;font:inherit;color:var(--quiet);background:none;
border:1px solid var(--line);border-radius:6px;padding:.2rem .7rem;cursor:pointer}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .4rem}
h2{font-size:1.3rem;margin:3rem 0 .6rem;padding-top:.8rem;border-top:1px solid var(--line)}
p{margin:.6rem 0;max-width:44rem}
.by{color:var(--quiet);font-size:.9rem;margin:0 0 1.4rem}
code{font:.88em ui-monospace,SFMono-Regular,Menlo,monospace;background:var(--raised);
padding:.08em .3em;border-radius:4px}
pre{background:var(--raised);padding:.8rem 1rem;border-radius:8px;overflow:auto}
pre code{background:none;padding:0}
.note{border-left:3px solid var(--accent);background:var(--raised);padding:.5rem 1rem;
max-width:44rem;border-radius:0 6px 6px 0}
figure{margin:1.4rem 0}
figcaption,caption{color:var(--quiet);font-size:.88rem;text-align:left;padding:.4rem 0}
.drawing svg{max-width:100%;height:auto}
.drawings{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(22rem,100%),1fr));
gap:0 1.6rem;align-items:start}
.drawings .drawing svg{width:100%}
.wide:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.live iframe{width:100%;border:1px solid var(--line);border-radius:8px;background:var(--ground)}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}
th,td{padding:.28rem .8rem .28rem 0;text-align:left;border-bottom:1px solid var(--line);
vertical-align:top}
th{font-weight:600;color:var(--quiet)}
thead th{white-space:nowrap}
td.number,th.number{text-align:right}
.published{font-style:italic;color:var(--quiet)}
@media (max-width:900px){.sheet{grid-template-columns:minmax(0,1fr);gap:1rem}nav{position:static}}
@media print{nav{display:none}.sheet{display:block}}
"""

SCRIPT = """
document.querySelector('nav button').addEventListener('click',()=>{
const root=document.documentElement;
const dark=root.dataset.theme?root.dataset.theme==='dark':
matchMedia('(prefers-color-scheme: dark)').matches;
root.dataset.theme=dark?'light':'dark';});
"""


def html_page(report: Report) -> str:
    """The report as a complete page."""
    names = [section.title for section in report.sections]
    links = "".join(
        f'<a href="#{_anchor(i, name)}">{escape(name)}</a>' for i, name in enumerate(names)
    )
    body = "".join(
        f'<section id="{_anchor(i, section.title)}"><h2>{escape(section.title)}</h2>'
        + _pieces(section.pieces)
        + "</section>"
        for i, section in enumerate(report.sections)
    )
    frames = [
        piece.page
        for section in report.sections
        for piece in section.pieces
        if isinstance(piece, LiveView)
    ]
    own = f"<style>{STYLE}</style><script>{SCRIPT}</script>"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy([own, body, *frames])}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(report.title)}</title><style>{STYLE}</style></head><body>"
        f'<div class="sheet"><nav aria-label="Contents">{links}<a href="#made">How it was made</a>'
        '<button type="button">light / dark</button></nav><main>'
        f"<h1>{escape(report.title)}</h1>"
        f'<p class="by">{escape(report.model)} · {report.made:%d %B %Y}</p>'
        f"{_paragraphs(report.summary)}{body}{_made(report)}</main></div>"
        f"<script>{SCRIPT}</script></body></html>\n"
    )


def _made(report: Report) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    settings = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(str(value))}</td></tr>'
        for name, value in report.settings.items()
    )
    return (
        f'<section id="made"><h2>How it was made</h2>{_paragraphs(report.method)}'
        f"<p>The command:</p><pre><code>{escape(report.command)}</code></pre>"
        + (
            '<div class="wide" tabindex="0" role="region" aria-label="Settings">'
            f"<table>{settings}</table></div>"
            if settings
            else ""
        )
        + f"<p>Versions: {escape(versions)}. Layers and heads are counted from 0, as in code.</p>"
        "</section>"
    )


def _pieces(pieces: Sequence[Piece]) -> str:
    """Figures that follow each other stand side by side where there is room."""
    parts: list[str] = []
    for drawn, run in groupby(pieces, lambda piece: isinstance(piece, Drawing)):
        shown = [_piece(piece) for piece in run]
        together = drawn and len(shown) > 1
        parts += ['<div class="drawings">', *shown, "</div>"] if together else shown
    return "".join(parts)


def _piece(piece: Piece) -> str:
    if isinstance(piece, Text):
        return _paragraphs(piece.text)
    if isinstance(piece, Note):
        return f'<div class="note">{_paragraphs(piece.text)}</div>'
    if isinstance(piece, ReportTable):
        return _table(piece)
    if isinstance(piece, Drawing):
        return (
            '<figure class="drawing">'
            f'<div role="img" aria-label="{escape(piece.caption or piece.name)}">'
            f"{_svg(piece.figure, piece.name)}</div>"
            f"<figcaption>{_inline(piece.caption)}</figcaption></figure>"
        )
    return _live(piece)


def _live(piece: LiveView) -> str:
    # loading=lazy: a report with twenty views opens at once and each view starts when seen
    return (
        f'<figure class="live"><iframe title="{escape(piece.caption or piece.name)}" '
        f'loading="lazy" style="height:{piece.height}px" sandbox="allow-scripts" '
        f'srcdoc="{escape(piece.page)}"></iframe>'
        f"<figcaption>{_inline(piece.caption)}</figcaption></figure>"
    )


def _table(table: ReportTable) -> str:
    columns = [str(column) for column in table.frame.columns]
    numeric = {
        name for name in columns if cast("pd.Series", table.frame[name]).dtype.kind in "iufc"
    }

    def attributes(name: str) -> str:
        classes = " ".join(
            word
            for word, holds in (
                ("number", name in numeric),
                ("published", name in table.published),
            )
            if holds
        )
        return f' class="{classes}"' if classes else ""

    head = "".join(f'<th scope="col"{attributes(name)}>{escape(name)}</th>' for name in columns)
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{attributes(name)}>{_inline(_cell(value, table.digits))}</td>"
            for name, value in zip(columns, row, strict=True)
        )
        + "</tr>"
        for row in table.frame.itertuples(index=False, name=None)
    )
    return (
        # a region that can have the focus can be scrolled by keyboard
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(_plain(table))}">'
        f'<table id="table-{escape(table.name)}">'
        f"<caption>{_inline(table.caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _plain(table: ReportTable) -> str:
    return re.sub(r"[`*]", "", table.caption) or table.name


def _cell(value: object, digits: int) -> str:
    if value is None or value != value:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    return str(value)


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{_inline(part)}</p>" for part in re.split(r"\n\s*\n", text) if part.strip())


def _inline(text: str) -> str:
    safe = escape(text.strip())
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", safe)


def _anchor(index: int, title: str) -> str:
    return f"s{index}-" + re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _svg(figure: Figure, name: str) -> str:
    import matplotlib as mpl

    from headscope.figures.of_heads.named_points import titled

    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": name}):
        figure.savefig(
            buffer, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None}
        )
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    # ids are the page's: two figures may not share one
    text = titled(text)
    prefix = re.sub(r"[^A-Za-z0-9]+", "-", name) + "-"
    text = re.sub(r'\bid="', f'id="{prefix}', text)
    text = re.sub(r'href="#', f'href="#{prefix}', text)
    return re.sub(r"url\(#", f"url(#{prefix}", text)
