"""The graph view: a trace or a circuit as nodes and arrows, each head a click from its picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.circuits.drawn import LINKS, DrawnGraph, drawn
from headscope.circuits.followed import Traced
from headscope.circuits.graph.result import Edges
from headscope.errors import BadInput
from headscope.json_text import parse_json
from headscope.reading import Reading
from headscope.views.shared.labels import Label
from headscope.views.shared.state import checked
from headscope.views.wire.container import Buffers, ViewData, joined, view_data
from headscope.views.wire.frame import Sending, frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "graph"
NEEDS = "graph"
BUNDLE = "score"  # its script is only in pages that show it
HEIGHT = 620  # of a notebook's frame
SHOWS = "a traced prediction or a circuit as a graph: layers from below, an arrow for each part"
EXAMPLE = 'hs.circuits.trace(hs.load(), "The cat [MASK] on the mat.")'
MEANINGS = {
    "source": "A trace, a circuit (`hs.circuits.edges`), or the .json file of either.",
    "n": "Edges of a circuit that are drawn: those with the largest scores.",
    "reading": "A reading of the traced text: a click on a head opens it; none by default.",
}


def build(
    source: Traced | Edges | Mapping[str, Any] | str | Path,
    *,
    reading: Reading | None = None,
    n: int = LINKS,
    sending: Sending | None = None,
    **options: Any,
) -> ViewData:
    """source: what `hs.circuits.trace` or `hs.circuits.edges` gave, or the JSON of either."""
    sending = sending or Sending()
    made = _json(source)
    graph = drawn(made, n)
    header = {"graph": _header(graph)}
    state = checked(options)
    if reading is not None:
        _check(made, reading)
        return joined(frame(NAME, reading, state, sending), header, view_data({}, Buffers()))
    return view_data(
        {
            "view": NAME,
            "views": [NAME],
            "model": _model(made),
            "caption": f"{graph.title} · {graph.caption}",
            "theme": sending.theme,
            "state": {"view": NAME, **state},
            "parts": [],
            **header,
        },
        Buffers(),
    )


def _json(source: Any) -> Mapping[str, Any]:
    if isinstance(source, Traced | Edges):
        return source.json()
    if isinstance(source, Mapping):
        return source
    if not isinstance(source, str | Path):
        raise BadInput("The graph view shows a trace or a circuit; see hs.circuits.trace.")
    try:
        found = parse_json(Path(source).read_bytes())
    except (OSError, ValueError) as error:
        raise BadInput(f"{source} cannot be read as the JSON of a trace or circuit.") from error
    return found if isinstance(found, dict) else {}


def _model(made: Mapping[str, Any]) -> str:
    return str(made.get("model") or made["graph"]["model"])


def _check(made: Mapping[str, Any], reading: Reading) -> None:
    """Nodes of a trace stand at tokens of one text; those of a circuit are heads of any text."""
    tokens = (made.get("graph") or {}).get("tokens")
    if tokens is not None and list(reading.part().query.labels) != list(tokens):
        raise BadInput("The reading and the trace are of different texts; read the trace's text.")


def _header(graph: DrawnGraph) -> dict[str, Any]:
    number = {one.name: at for at, one in enumerate(graph.nodes)}
    return {
        "title": graph.title,
        "caption": graph.caption,
        "nodes": [asdict(one) for one in graph.nodes],
        "links": [
            {
                "source": number[one.source], "target": number[one.target],
                "through": one.through, "value": round(one.value, 5), "text": one.text,
            }
            for one in graph.links
        ],
    }  # fmt: skip


def draw(source: Any, state: Mapping[str, Any], labels: Sequence[Label] = (), **_: Any) -> Figure:
    """The same graph on paper."""
    from headscope.figures.style import describe

    del state, labels
    return describe(drawn(_json(source)).figure(), view=NAME)
