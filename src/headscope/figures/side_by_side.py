"""Two figures in one file: side by side, or on two pages of a PDF."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from headscope.figures.style import DPI, save

GAP = 0.3  # inches


def save_together(figures: Sequence[Figure], path: str | Path) -> None:
    """Write the figures to one file, in the format of its ending."""
    kind = Path(path).suffix.lstrip(".").lower()
    if kind == "pdf":
        _pages(figures, path)
        return
    parts: list[bytes] = []
    for figure in figures:
        written = io.BytesIO()
        save(figure, written, kind)
        parts.append(written.getvalue())
    Path(path).write_bytes(_pictures(parts) if kind == "png" else _drawings(parts))


def _pages(figures: Sequence[Figure], path: str | Path) -> None:
    from matplotlib.backends.backend_pdf import PdfPages

    with PdfPages(path, metadata={"CreationDate": None}) as pages:  # pyright: ignore[reportArgumentType]
        for figure in figures:
            pages.savefig(figure, bbox_inches="tight", pad_inches=0.08)


def _pictures(parts: Sequence[bytes]) -> bytes:
    from PIL import Image

    pictures = [Image.open(io.BytesIO(part)).convert("RGB") for part in parts]
    gap = round(GAP * DPI)
    width = sum(one.width for one in pictures) + gap * (len(pictures) - 1)
    ground = pictures[0].getpixel((0, 0))
    whole = Image.new("RGB", (width, max(one.height for one in pictures)), ground)
    left = 0
    for one in pictures:
        whole.paste(one, (left, 0))
        left += one.width + gap
    written = io.BytesIO()
    whole.save(written, "PNG", dpi=(DPI, DPI))
    return written.getvalue()


def _drawings(parts: Sequence[bytes]) -> bytes:
    """Each figure as an inner svg element with its own ids: both may use the same clip id."""
    left, tallest, inside = 0.0, 0.0, list[str]()
    for number, part in enumerate(parts):
        text = part.decode("utf-8")
        element = text[text.index("<svg") :]
        width, height = (
            float(re.search(rf'<svg[^>]*\b{name}="([\d.]+)pt"', element)[1])  # pyright: ignore[reportOptionalSubscript]
            for name in ("width", "height")
        )
        element = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>f{number}", element)
        inside.append(element.replace("<svg", f'<svg x="{left:g}"', 1).replace('pt"', '"', 2))
        left += width + GAP * 72
        tallest = max(tallest, height)
    width = left - GAP * 72
    head = (
        '<?xml version="1.0" encoding="utf-8" standalone="no"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" version="1.1" width="{width:g}pt" '
        f'height="{tallest:g}pt" viewBox="0 0 {width:g} {tallest:g}">\n'
    )
    return (head + "".join(inside) + "</svg>\n").encode("utf-8")
