"""The score view: writers of a query × writers of a key, and the words behind each writer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.circuits.scores.result import Score
from headscope.circuits.scores.writers import Removal, Writer
from headscope.errors import BadInput
from headscope.reading import Reading
from headscope.views.shared.labels import Label
from headscope.views.shared.state import checked
from headscope.views.wire.container import Buffers, ViewData, joined, view_data
from headscope.views.wire.frame import Sending, frame
from headscope.views.wire.packing import pack_numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "score"
NEEDS = "score"
BUNDLE = "score"  # its script is only in pages that show it
HEIGHT = 620  # of a notebook's frame
SHOWS = "who wrote what a query asks for × who wrote what the key offers, with the words behind"
EXAMPLE = 'hs.circuits.score(hs.load(), "The cat sat on the mat.", 2, 6, 3, 2)'
WRITERS = 14  # shown of each side


def build(
    source: Score,
    *,
    reading: Reading | None = None,
    sending: Sending | None = None,
    **options: Any,
) -> ViewData:
    """source: the result of `hs.circuits.score(scope, text, layer, head, query, key)`.

    With `reading`, of the same text, each head shows which word it read, and a click opens it.
    """
    if not isinstance(source, Score):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadInput("The score view shows one score; give hs.circuits.score a key.")
    sending = sending or Sending()
    if reading is not None and reading.part(source.kind).query.labels != source.query_tokens:  # pyright: ignore[reportArgumentType]
        raise BadInput("The reading and the score are of different texts; read the score's text.")
    buffers = Buffers()
    header = {"score": _header(source, reading, buffers)}
    at = {"kind": source.kind, "layer": source.layer, "head": source.head}
    state: dict[str, Any] = {**at, **checked(options)}
    if reading is not None:
        query = {"heads": [source.head], "query": source.query}
        data = frame(NAME, reading, {**query, **state}, sending)
        return joined(data, header, view_data({}, buffers))
    return view_data(
        {
            "view": NAME,
            "views": [NAME],
            "model": source.model,
            "caption": f"{source.model} · {source.title}",
            "theme": sending.theme,
            "state": {"view": NAME, **state},
            "parts": [],
            **header,
        },
        buffers,
    )


def _header(source: Score, reading: Reading | None, buffers: Buffers) -> dict[str, Any]:
    rows, columns = source.shown(WRITERS)
    parts = source.parts[np.ix_(rows, columns)]
    buffers.add("score.parts", pack_numbers(parts.astype(np.float32)))
    sums = (source.parts.sum(1), source.parts.sum(0))
    return {
        "title": source.title,
        "value": round(source.value, 5),
        "weight": round(source.weight, 5),
        "bias": round(source.positional_bias, 5),
        "rest": round(float(source.parts.sum() - parts.sum()), 5),
        "query": [
            writer(one, sums[0][at], source.query_tokens, source.query, reading)
            for at in rows
            for one in [source.query_writers[at]]
        ],
        "key": [
            writer(one, sums[1][at], source.key_tokens, source.key, reading)
            for at in columns
            for one in [source.key_writers[at]]
        ],
        "at": [source.query, source.key],
        "tokens": [source.query_tokens[source.query], source.key_tokens[source.key]],
        "parts": {"buffer": "score.parts"},
        "removed": [_removed(one) for one in source.verified],
    }


def writer(
    one: Writer, value: float, tokens: Sequence[str], position: int, reading: Reading | None
) -> dict[str, Any]:
    """A writer with the word behind it: its own token, or the one that a head read most."""
    found = {
        "name": one.name,
        "kind": one.kind if one.part == "head" else None,
        "layer": one.layer if one.part == "head" else None,
        "head": one.head,
        "value": round(float(value), 5),
    }
    if one.part == "embedding":
        return {**found, "word": tokens[position], "read": None}
    if one.part != "head" or reading is None:
        return {**found, "word": "", "read": None}
    assert one.kind is not None and one.layer is not None and one.head is not None
    part = reading.part(one.kind)
    row = slice(position, position + 1)
    weights = part.layer(one.layer).head_weights(slice(one.head, one.head + 1), row)[0, 0]
    key = int(weights.argmax())
    return {**found, "word": part.key.labels[key], "read": [key, round(float(weights[key]), 4)]}


def _removed(one: Removal) -> dict[str, Any]:
    numbers = {name: round(getattr(one, name), 4) for name in ("predicted", "rescaled", "measured")}
    return {"side": one.side, "writer": one.writer.name, **numbers}


def draw(source: Score, state: Mapping[str, Any], labels: Sequence[Label] = ()) -> Figure:
    """The same writers on paper."""
    from headscope.figures.style import describe

    del state, labels
    return describe(source.plot(), view=NAME)
