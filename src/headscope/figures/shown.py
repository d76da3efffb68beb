"""A figure that shows itself in a notebook, where nobody has set matplotlib up to do so."""

from __future__ import annotations

import base64
import html
import io

from matplotlib.figure import Figure

_DOTS = 120  # an inch on screen
_FINE = 2  # pixels drawn for each of them


class ShownFigure(Figure):
    """matplotlib's own display of figures is registered by pyplot, which we never import."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int | str]]:
        written = io.BytesIO()
        self.savefig(written, format="png", dpi=_DOTS * _FINE, bbox_inches="tight")
        png = written.getvalue()
        width = int.from_bytes(png[16:20], "big") // _FINE  # the header says how wide it came out
        return png, {"width": width, "alt": self._title()}

    def _repr_html_(self) -> str:
        """The picture with its words: exporters of notebooks drop those of a bare picture."""
        png, about = self._repr_png_()
        said = html.escape(str(about["alt"]), quote=True)
        data = base64.b64encode(png).decode("ascii")
        return f'<img alt="{said}" width="{about["width"]}" src="data:image/png;base64,{data}">'

    def _title(self) -> str:
        titles = [axes.get_title(loc) for axes in self.axes for loc in ("left", "center")]
        return next(filter(None, [self.get_suptitle(), *titles]), "a figure of headscope")
