"""The first answer to a reading: the opening state, every head's numbers, and one layer."""

from __future__ import annotations

from typing import Any

from headscope.capture import Kind
from headscope.patterns.labels import in_order
from headscope.reading import Reading
from headscope.surfaces.app.examples import lesson_for
from headscope.surfaces.app.kept import KeptReading
from headscope.views import Sending, ViewData
from headscope.views.image import kind_with_pictures
from headscope.views.shared.labels import as_labels
from headscope.views.shared.numbers import Table, table_of
from headscope.views.shared.on_media import opening_query
from headscope.views.shared.opening import opening_head
from headscope.views.sound import kind_with_sound, opening
from headscope.views.text import telling_query
from headscope.views.wire.frame import frame

LONG = 300  # longer texts, in tokens, open in the text view


def opened(kept: KeptReading, layer: int | None, *, every_layer: bool = False) -> ViewData:
    """`layer` is the layer on screen before, which stays selected."""
    reading = kept.reading
    part = reading.part(_kind(reading))
    labels = kept.labels
    table = table_of(reading, part.kind)
    lesson = lesson_for(kept.text, kept.text_pair, part, table.columns)
    at = opening_head(part, as_labels(labels, part.kind))
    if lesson and "layer" in lesson:
        at = (lesson["layer"], lesson["head"])
    if layer in part.numbers:
        at = (layer, at[1])
    view = _view(reading, lesson)
    state: dict[str, Any] = {"kind": part.kind, "layer": at[0], "head": at[1], "heads": [at[1]]}
    state["column"] = _column(kept, table, part.kind, at)
    if "prompt_tokens" in reading.metadata:
        state["query"] = reading.metadata["prompt_tokens"] - 1  # it chose the first word
    elif view in ("image", "sound"):
        state["query"] = opening_query(part) if view == "image" else opening(part)
        state |= {"side": "query", "key": None, "also": []}
    elif view == "text":
        state["query"] = telling_query(part, *at)
    sending = Sending(labels=labels, neurons=True, only=None if every_layer else (at[0],))
    data = frame(view, reading, state, sending, table=table)
    return ViewData({**data.header, "lesson": lesson}, data.buffers)


def _column(kept: KeptReading, table: Table, kind: str, at: tuple[int, int]) -> str:
    """The head map's opening measure: the selected head's label."""
    if kept.scores is not None and not kept.scores.empty:
        scores: Any = kept.scores[kept.scores["labelled"]]
        here = (scores["kind"] == kind) & (scores["layer"] == at[0]) & (scores["head"] == at[1])
        for name in in_order(scores[here])["pattern"]:
            if name in table.columns:
                return str(name)
    return "entropy" if "entropy" in table.columns else next(iter(table.columns))


def _kind(reading: Reading) -> Kind | None:
    if reading.pictures:
        return kind_with_pictures(reading)
    if reading.sound is not None:
        return kind_with_sound(reading)
    return "decoder" if "prompt_tokens" in reading.metadata else None


def _view(reading: Reading, lesson: dict[str, Any] | None) -> str:
    if lesson is not None:
        return str(lesson["view"])
    if reading.pictures or reading.sound is not None:
        return "image" if reading.pictures else "sound"
    longest = max(len(part.query) for part in reading.parts.values())
    return "text" if longest > LONG or "prompt_tokens" in reading.metadata else "head"
