"""The prediction view: which heads made the answer, from which words, and by how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.circuits.logits.attribution import Attribution, Flow, PartOfLogit, flow_of, head_name
from headscope.errors import BadInput
from headscope.reading import Reading
from headscope.views.shared.caption import caption, shortened
from headscope.views.shared.labels import Label
from headscope.views.shared.state import checked
from headscope.views.wire.container import Buffers, ViewData, joined, view_data
from headscope.views.wire.frame import Sending, frame
from headscope.views.wire.packing import pack_numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "prediction"
SHOWS = "the heads that pushed a predicted token up and down, and from which words they did"
# another answer than the likeliest, the one to compare with, and the explained token: only where
# the model can run
OPTIONS = {"target": str, "rather": str, "token": str}
EXAMPLE = 'hs.attribute(hs.load(), "The [MASK] sat.")'
MEANINGS = {
    "source": "What `hs.attribute` gave.",
    "reading": "The reading of the same text: its heads open in the other views.",
    "target": "The answer to show; default: the attribution's own.",
    "rather": "The answer to compare it with; default: the attribution's own.",
    "token": "The position to predict; default: the attribution's own.",
}
BARS = 24  # parts listed, and heads with words in the page
NONE = (
    "A reading holds no prediction: hs.prediction_view(hs.attribute(scope, text)) shows which "
    "heads made one."
)


def build(
    source: Attribution | Reading,
    *,
    reading: Reading | None = None,
    kind: Any = None,
    layer: int | None = None,
    head: int | None = None,
    sending: Sending | None = None,
    **options: Any,
) -> ViewData:
    """source: an attribution; with `reading`, of the same text, heads open in the other views."""
    sending = sending or Sending()
    if isinstance(source, Reading):
        part = source.part(kind)
        state = {"kind": part.kind, "layer": part.numbers[0], "head": 0, **checked(options)}
        return frame(NAME, source, state, sending)
    if not isinstance(source, Attribution):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadInput(NONE)
    if options.get("target") not in (None, "", source.target[0]):
        raise BadInput(
            "An attribution explains one answer; call hs.attribute(…, target=…) for another."
        )
    opened = _opened(source, kind, layer, head)
    state = {**opened, "heads": [opened["head"]], **checked(options)}
    if reading is not None:
        data = frame(NAME, reading, state, sending)
        buffers = Buffers()
        header = prediction_header(source, buffers)
        return joined(data, {"prediction": header}, view_data({}, buffers))
    buffers = Buffers()
    return view_data(
        {
            "view": NAME,
            "views": [NAME],
            "model": source.model,
            "caption": _caption(source),
            "theme": sending.theme,
            "state": {"view": NAME, **state},
            "parts": [],
            "prediction": prediction_header(source, buffers),
        },
        buffers,
    )


def prediction_header(source: Attribution, buffers: Buffers) -> dict[str, Any]:
    """The page's data: tokens, parts, the words behind the strongest heads, the flow."""
    listed = source.strongest(BARS)
    known = [
        p for p in listed if p.part == "head" and head_name(p.kind, p.layer or 0) in source.edges
    ]
    longest = max(len(source.query), len(source.key))
    by_key = np.zeros((max(1, len(known)), longest), dtype=np.float32)
    for row, one in enumerate(known):
        values = source.by_key(one.layer or 0, one.head or 0, one.kind)
        by_key[row, : len(values)] = values
    flow = flow_of(source)
    return {
        "target": list(source.target),
        "value": source.value,
        "position": source.position,
        "query": list(source.query),
        "key": list(source.key) if source.key != source.query else None,
        "likeliest": [[token, round(share, 4)] for token, share in source.likeliest],
        "parts": [_part(one) for one in listed],
        "rest": source.value - sum(one.value for one in listed),
        "unexplained": source.unexplained,
        "note": source.note,
        "words": [head_name(p.kind, p.layer or 0, p.head) for p in known],
        "by_key": buffers.add("predicted", pack_numbers(by_key)),
        "promotes": {
            name: [list(up.tokens), list(down.tokens)]
            for name, (up, down) in source.promotes.items()
        },
        "lens": [[list(one.tokens), [round(v, 4) for v in one.values]] for one in source.lens],
        "flow": _flow(flow),
    }


def _part(one: PartOfLogit) -> dict[str, Any]:
    return {
        "part": one.part,
        "kind": one.kind,
        "layer": one.layer,
        "head": one.head,
        "label": one.label,
        "value": round(one.value, 5),
    }


def _flow(flow: Flow) -> dict[str, Any]:
    return {
        "parts": [_part(one) for one in flow.parts],
        "edges": [
            [head_name(e.kind, e.layer, e.head), e.key, round(e.value, 5)] for e in flow.edges
        ],
        "shown": round(flow.shown, 4),
        "rest": round(flow.rest, 5),
    }


def _opened(source: Attribution, kind: Any, layer: int | None, head: int | None) -> dict[str, Any]:
    """The requested head, else the strongest."""
    heads = [one for one in source.parts if one.part == "head" and kind in (None, one.kind)]
    if layer is not None:
        heads = [one for one in heads if one.layer == layer and head in (None, one.head)]
        if not heads:
            raise BadInput(f"There is no head {layer}-{head} in this attribution.")
    if not heads:
        return {"kind": "decoder", "layer": 0, "head": 0}
    best = max(heads, key=lambda one: abs(one.value))
    return {"kind": best.kind, "layer": best.layer, "head": best.head}


def _caption(source: Attribution) -> str:
    return f"{source.model} · “{shortened(' '.join(source.query))}”"


def _words(source: Attribution, flow: Flow) -> tuple[list[str], dict[str, int]]:
    """The words that contribute, the encoder's before the decoder's, and the first number of each
    kind of attention's words."""
    kinds = {edge.kind for edge in flow.edges}
    read = list(source.key) if "cross" in kinds else []
    own = list(source.query) if kinds != {"cross"} else []
    return [*read, *own], {kind: 0 if kind == "cross" else len(read) for kind in kinds}


def draw(
    source: Attribution | Reading,
    state: Mapping[str, Any],
    labels: Sequence[Label] = (),
    **more: Any,
) -> Figure:
    """From words through heads to the answer, on paper."""
    from headscope.figures.of_circuits import prediction_flow
    from headscope.figures.style import describe

    if isinstance(source, Reading):
        return prediction_flow([], [], [], "No prediction", caption=f"{caption(source)}\n{NONE}")
    flow = flow_of(source)
    words, first = _words(source, flow)
    names = [head_name(p.kind, p.layer or 0, p.head) if p.part == "head" else p.label
             for p in flow.parts]  # fmt: skip
    figure = prediction_flow(
        words,
        [(name, one.label, one.value) for name, one in zip(names, flow.parts, strict=True)],
        [(first[e.kind] + e.key, head_name(e.kind, e.layer, e.head), e.value) for e in flow.edges],
        source.title,
        answer=source.target[0],
        caption=(
            f"{_caption(source)}\nDrawn: {flow.shown:.0%} of what the strongest heads carry; parts "
            f"not drawn add {flow.rest:+.2f}. {source.note}"
        ),
    )
    drawn = _flow(flow)
    return describe(
        figure,
        view=NAME,
        target=list(source.target),
        value=round(source.value, 5),
        parts=[[one["label"], one["value"]] for one in drawn["parts"]],
        edges=drawn["edges"],
        shown=drawn["shown"],
        rest=drawn["rest"],
    )
