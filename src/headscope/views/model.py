"""The model view: every head of every layer as a thumbnail; a click opens the head view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headscope.capture import Kind
from headscope.reading import Part, Reading
from headscope.views.shared.caption import caption
from headscope.views.shared.labels import Label, as_labels
from headscope.views.shared.opening import opening_head
from headscope.views.shared.state import check_heads, checked, several
from headscope.views.wire.container import ViewData
from headscope.views.wire.frame import Sending, frame
from headscope.views.wire.part import part_thumbnail

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from headscope.figures.model_grid import Cell

NAME = "model"
SHOWS = "every head of every layer as a thumbnail; a click opens one"
MEANINGS = {"heads": "The columns that are shown; all by default."}


def build(
    reading: Reading,
    heads: Sequence[int] | None = None,
    *,
    kind: Kind | None = None,
    sending: Sending | None = None,
    **options: Any,
) -> ViewData:
    """All heads, or the named columns; the clearest head is selected."""
    sending = sending or Sending()
    part = reading.part(kind)
    heads = several(heads)
    check_heads(part.heads, *(heads or ()))
    layer, head = opening_head(part, as_labels(sending.labels, part.kind))
    if heads and head not in heads:
        head = heads[0]
    state = {
        "kind": part.kind,
        "layer": layer,
        "head": head,
        "heads": [head],
        "columns": None if heads is None else list(heads),
        **checked(options),
    }
    return frame(NAME, reading, state, sending)


def rows(parts: Sequence[Mapping[str, Any]]) -> int:
    """The picture's height in lines of text."""
    return 3 * max(len(part["layers"]) for part in parts)


def draw(reading: Reading, state: Mapping[str, Any], labels: Sequence[Label] = ()) -> Figure:
    """The same picture on paper."""
    from headscope.figures.model_grid import model_grid
    from headscope.figures.style import describe

    asked, by_label = state.get("columns"), state.get("order") == "label"
    wanted = str(state.get("find", "")).strip().lower()
    rows: list[list[Cell]] = []
    for part in reading.parts.values():
        heads = [head for head in range(part.heads) if not asked or head in asked]
        rows += _rows(part, heads, labels, by_label, wanted)
    names = [(part.kind, layer) for part in reading.parts.values() for layer in part.numbers]
    several = len(reading.parts) > 1
    kinds = "all attention" if several else f"{next(iter(reading.parts))} attention"
    figure = model_grid(
        rows,
        layers=[f"{kind} {layer}" if several else str(layer) for kind, layer in names],
        of_heads=max(part.heads for part in reading.parts.values()),
        title=f"{kinds.capitalize()}, {len(rows)} layers × {max(map(len, rows))} heads",
        caption=caption(reading),
        as_lines=state.get("thumbnails") == "lines",
        numbered=by_label,
    )
    return describe(
        figure,
        view=NAME,
        thumbnails=state.get("thumbnails", "maps"),
        layers=[list(name) for name in names],
        heads=[[cell.head for cell in row] for row in rows],
        faded=sum(cell.faded for row in rows for cell in row),
        sums=[[round(float(cell.map.sum()), 3) for cell in row] for row in rows],
    )


def _rows(
    part: Part, heads: Sequence[int], labels: Sequence[Label], by_label: bool, wanted: str
) -> list[list[Cell]]:
    """Rows of heads per layer: by number, or strongest label first, as on the page."""
    from headscope.figures.model_grid import Cell

    named = {(each.layer, each.head): each for each in labels if each.kind == part.kind}
    rows: list[list[Cell]] = []
    for layer in part.layers:
        maps = part_thumbnail(layer, part.heads) / 255
        scores = {head: _score(named.get((layer.layer, head))) for head in heads}
        order = sorted(heads, key=lambda head: (-scores[head], head)) if by_label else heads
        texts = {head: _text(named.get((layer.layer, head))) for head in heads}
        rows.append(
            [Cell(at, maps[at], texts[at], wanted not in texts[at].lower()) for at in order]
        )
    return rows


def _text(label: Label | None) -> str:
    return "" if label is None else label.text


def _score(label: Label | None) -> float:
    return -1.0 if label is None else label.score
