"""The house style of static figures: calm, dense, exact, fit for print.

Figures are made without pyplot, so that importing headscope never chooses a backend or keeps
figures alive. `drawing` applies the style while a figure is built, `save` while it is written.
"""

from __future__ import annotations

import base64
import contextlib
import html
import io
import json
import textwrap
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from weakref import WeakKeyDictionary

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from headscope.errors import BadInput
from headscope.figures.colour import INK, PAPER, QUIET, RULE, of_shade
from headscope.figures.fonts import drawable, families
from headscope.files import atomic_path

DPI = 200
FORMATS = ("svg", "png", "pdf")
MOST_PIXELS = 30_000  # per side: a very long text is drawn coarser rather than not at all
BODY, SMALL, TINY = 8.0, 7.0, 6.0  # points


def _parameters() -> dict[str, Any]:
    return {
        "font.family": list(families()),
        "font.size": BODY,
        "axes.titlesize": BODY + 1,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.titlepad": 8,
        "axes.labelsize": BODY,
        "axes.labelcolor": of_shade(INK),
        "axes.edgecolor": of_shade(QUIET),
        "axes.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.unicode_minus": False,
        "text.color": of_shade(INK),
        "text.parse_math": False,  # a token "$x$" is text, never mathematics
        "xtick.color": of_shade(QUIET),
        "ytick.color": of_shade(QUIET),
        "xtick.labelcolor": of_shade(INK),
        "ytick.labelcolor": of_shade(INK),
        "xtick.labelsize": SMALL,
        "ytick.labelsize": SMALL,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        "legend.frameon": False,
        "legend.fontsize": SMALL,
        "grid.color": of_shade(RULE),
        "grid.linewidth": 0.5,
        "figure.facecolor": of_shade(PAPER),
        "axes.facecolor": of_shade(PAPER),
        "savefig.facecolor": of_shade(PAPER),
        "savefig.dpi": DPI,
        "svg.fonttype": "path",  # the same letters on machines without these fonts
        "svg.hashsalt": "headscope",  # the same figure gives the same bytes
        "pdf.fonttype": 42,  # TrueType, which publishers require
    }


_one_at_a_time = threading.RLock()


@contextmanager
def drawing() -> Generator[None]:
    """Apply the house style to what is drawn inside.

    A lock, because matplotlib has one set of parameters for all threads: two figures drawn at once
    could mix their styles.
    """
    with _one_at_a_time, matplotlib.rc_context(_parameters()):  # pyright: ignore[reportArgumentType]
        yield


def new_figure(width: float, height: float) -> Figure:
    """A figure in inches, in house style; call inside `drawing`."""
    figure = ShownFigure(figsize=(width, height), dpi=DPI, facecolor=of_shade(PAPER))
    FigureCanvasAgg(figure)
    return figure


_descriptions: WeakKeyDictionary[Figure, dict[str, Any]] = WeakKeyDictionary()


def describe(figure: Figure, **shown: Any) -> Figure:
    """Describe the figure; a saved figure has the text in its metadata."""
    _descriptions[figure] = shown
    return figure


def description(figure: Figure) -> dict[str, Any] | None:
    return _descriptions.get(figure)


def caption(figure: Figure, text: str, *, y: float = 0.0, va: str = "bottom") -> None:
    """A quiet line under a figure: model, text, layer, head."""
    figure.text(
        0,
        y,
        drawable(text),
        fontsize=TINY,
        color=of_shade(QUIET),
        ha="left",
        va=va,
        parse_math=False,
    )


def bare(axes: Axes) -> None:
    """No frame and no ticks: the marks stand alone."""
    axes.set_axis_off()


def check_format(kind: str) -> None:
    if kind not in FORMATS:
        raise BadInput(f"A figure is written as {', '.join(FORMATS)}, not as {kind or 'nothing'}.")


def save(figure: Figure, path: str | Path | IO[bytes], file_format: str | None = None) -> None:
    """Write SVG, PNG or PDF by the path's ending, trimmed to the drawing."""
    named = path if isinstance(path, (str, Path)) else ""
    kind = file_format or Path(named).suffix.lstrip(".").lower()
    check_format(kind)
    # without a date the same figure gives the same bytes
    metadata: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    if figure in _descriptions:
        field = "Subject" if kind == "pdf" else "Description"
        metadata |= {field: json.dumps(_descriptions[figure], allow_nan=False)}
    dots = min(DPI, MOST_PIXELS / max(figure.get_size_inches()))
    with drawing(), contextlib.ExitStack() as stack:
        whole = stack.enter_context(atomic_path(path)) if isinstance(path, (str, Path)) else path
        figure.savefig(
            whole,
            format=kind,
            dpi=dots,
            bbox_inches="tight",
            pad_inches=0.08,
            metadata=metadata,
            facecolor=figure.get_facecolor(),
        )


# A figure that a notebook shows without any setup of matplotlib.

_DOTS = 120  # an inch on screen
_FINE = 2  # pixels per dot
_TRIES, _NEAR = 12, 0.01  # to fit a width, in inches


class ShownFigure(Figure):
    """A figure with its own display: matplotlib's needs pyplot, which is never imported."""

    def savefig(self, fname: Any, *, width: float | None = None, **options: Any) -> None:
        """Whole, unless asked otherwise: titles and names stand outside the axes.

        With `width` the written picture has that many inches, such as 3.3 for a paper's column.
        Its text keeps its size.
        """
        options.setdefault("bbox_inches", "tight")
        with drawing():
            if width is not None:
                self._fit(width, float(options.setdefault("pad_inches", 0.02)))
            super().savefig(fname, **options)

    def _fit(self, width: float, pad: float) -> None:
        right = self.get_tightbbox().x0 + width - 2 * pad  # names may stand left of the figure
        for text in self.texts:
            self._wrap(text, right)
        before = tuple(self.get_size_inches())
        for _ in range(_TRIES):
            drawn = self.get_tightbbox().width + 2 * pad
            if abs(drawn - width) < _NEAR:
                return
            now, height = self.get_size_inches()
            wanted = now + width - drawn
            if not before[0] / 3 < wanted < before[0] * 3:
                break
            self.set_size_inches(wanted, height * wanted / now)
        self.set_size_inches(*before)
        raise BadInput(
            f"This figure cannot be {width:g} inches wide: its width follows from its content. "
            "Save it without width=, and scale it in the paper."
        )

    def _wrap(self, text: Text, right: float) -> None:
        """Break a title or caption that ends beyond; a title grows upward, a caption downward."""
        extent = text.get_window_extent()
        ratio = (right * self.dpi - extent.x0) / max(extent.width, 1)
        if ratio >= 1:
            return
        is_title = extent.y0 + extent.y1 > self.bbox.height
        edge = (extent.x0, extent.y0 if is_title else extent.y1)
        _, y = text.get_transform().inverted().transform(edge)
        text.set_y(y)
        text.set_verticalalignment("bottom" if is_title else "top")
        text.set_text(textwrap.fill(text.get_text(), int(len(text.get_text()) * ratio * 0.92)))

    def _repr_png_(self) -> tuple[bytes, dict[str, int | str]]:
        written = io.BytesIO()
        self.savefig(written, format="png", dpi=_DOTS * _FINE, bbox_inches="tight")
        png = written.getvalue()
        width = int.from_bytes(png[16:20], "big") // _FINE  # the width from the header
        return png, {"width": width, "alt": self._title()}

    def _repr_html_(self) -> str:
        """The picture with its alt text, which notebook exporters drop from a bare picture."""
        png, about = self._repr_png_()
        said = html.escape(str(about["alt"]), quote=True)
        data = base64.b64encode(png).decode("ascii")
        return f'<img alt="{said}" width="{about["width"]}" src="data:image/png;base64,{data}">'

    def _title(self) -> str:
        titles = [axes.get_title(loc) for axes in self.axes for loc in ("left", "center")]
        return next(filter(None, [self.get_suptitle(), *titles]), "a figure of headscope")
