"""The grounding view: an answer beside its documents, shaded by how much it took from each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.errors import BadInput
from headscope.grounding.result import TITLES, WHOLE, Grounding
from headscope.reading import Reading
from headscope.views.shared.caption import shortened
from headscope.views.shared.labels import Label
from headscope.views.shared.state import checked
from headscope.views.wire.container import Buffers, ViewData, joined, view_data
from headscope.views.wire.frame import Sending, frame
from headscope.views.wire.packing import pack_numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "grounding"
NEEDS = "grounding"
BUNDLE = "grounding"  # its script is only in pages that show it
HEIGHT = 640  # of a notebook's frame
SHOWS = "an answer beside its documents, shaded by what each sentence took from where"
OPTIONS = {"method": str, "sentence": str}
EXAMPLE = 'hs.ground(scope, "Where was Juno born?", …)'
MEANINGS = {
    "source": "What `hs.ground` gave.",
    "reading": "The reading of the same answer: its heads open in the other views.",
    "method": "The method that shades the documents; by default the best there is.",
    "sentence": "The sentence that is selected, counted from 1; the whole answer by default.",
}


def build(
    source: Grounding,
    *,
    reading: Reading | None = None,
    method: str | None = None,
    sentence: int | None = None,
    sending: Sending | None = None,
    **options: Any,
) -> ViewData:
    """source: the result of `hs.ground`. With `reading`, of the same conversation, a click on a
    head opens it in the text view."""
    if not isinstance(source, Grounding):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadInput("The grounding view needs the result of hs.ground(scope, …).")
    sending = sending or Sending()
    chosen = source.best if method is None else method
    shown = WHOLE if sentence is None else sentence
    source.by_source(chosen, shown)  # raises an error if it is missing
    said = "" if shown == WHOLE else str(shown)
    state: dict[str, Any] = {**checked({"method": chosen, "sentence": said, **options})}
    buffers = Buffers()
    header = {"grounding": _header(source, buffers)}
    heads = header["grounding"]["heads"]
    at = {"layer": heads[0]["layer"], "head": heads[0]["head"]} if heads else {}
    if reading is not None:
        first = {"kind": reading.part().kind, "layer": reading.part().numbers[0], "head": 0, **at}
        listed = [(one["layer"], one["head"]) for one in heads]
        sending = replace(sending, first=listed)
        data = frame(NAME, reading, {**first, "heads": [first["head"]], **state}, sending)
        header = {**header, "caption": _caption(source)}
        return joined(data, header, view_data({}, buffers))
    return view_data(
        {
            "view": NAME,
            "views": [NAME],
            "model": source.model,
            "caption": _caption(source),
            "theme": sending.theme,
            "state": {"view": NAME, "kind": "decoder", "layer": 0, "head": 0, **at, **state},
            "parts": [],
            **header,
        },
        buffers,
    )


def _header(source: Grounding, buffers: Buffers) -> dict[str, Any]:
    sentences = range(WHOLE, len(source.sentences))
    order = {one.name: at for at, one in enumerate(source.sources)}
    scores = np.full((len(source.methods), len(sentences), len(order)), np.nan, np.float32)
    methods = {name: at for at, name in enumerate(source.methods)}
    rows: Any = source.scores
    for row in rows.itertuples():
        scores[methods[str(row.method)], int(row.sentence) - WHOLE, order[str(row.source)]] = (
            row.value
        )
    buffers.add("grounding.scores", pack_numbers(scores))
    asked = [one for one in source.messages if one.get("role") == "user"] or source.messages
    return {
        "question": asked[-1].get("content", ""),
        "answer": source.answer,
        "titles": list(source.titles),
        "documents": list(source.documents),
        "sources": [
            {"name": one.name, "document": one.document, "start": one.start, "stop": one.stop}
            for one in source.sources
        ],
        "sentences": [_sentence(source, at) for at in sentences],
        "methods": [{"name": name, "title": TITLES[name]} for name in source.methods],
        "scores": {"buffer": "grounding.scores"},
        **_heads(source),
    }


def _sentence(source: Grounding, number: int) -> dict[str, Any]:
    whole = (0, len(source.answer))
    start, stop = whole if number == WHOLE else source.sentences[number]
    row: Any = source.support[source.support["sentence"] == number].iloc[0]
    return {
        "start": start,
        "stop": stop,
        "verdict": str(row["verdict"]),
        "gain": round(float(row["gain"]), 4),
        "by_chance": round(float(row["by_chance"]), 4),
        "least_expected": round(float(row["least_expected"]), 4),
    }


def _heads(source: Grounding) -> dict[str, Any]:
    """The heads that were cut, the most important first."""
    table: Any = source.table
    cut = table[table["measure"] == "knockout"].sort_values("value", ascending=False)
    seen, copied = (
        table[table["measure"] == name].set_index(["layer", "head"])["value"]
        for name in ("mass", "retrieval")
    )
    heads = [
        {
            "layer": int(row.layer),
            "head": int(row.head),
            "attention": round(float(seen[(row.layer, row.head)]), 4),
            "copied": round(float(copied[(row.layer, row.head)]), 4),
            "lost": round(float(row.value), 4),
        }
        for row in cut.itertuples()
    ]
    together = None if source.together is None else round(source.together, 4)
    return {"heads": heads, "source": str(table["source"].iloc[0]), "together": together}


def _caption(source: Grounding) -> str:
    return f"{source.model} · “{shortened(source.answer)}”"


def draw(source: Grounding, state: Mapping[str, Any], labels: Sequence[Label] = ()) -> Figure:
    """Sentences × sources on paper."""
    from headscope.figures.style import describe

    del labels
    method = state.get("method") or source.best
    return describe(source.plot(method), view=NAME, method=method)
