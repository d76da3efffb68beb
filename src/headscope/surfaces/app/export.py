"""The app's screen as a file: the page's state, drawn again."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headscope.errors import BadInput
from headscope.figures import save
from headscope.figures.side_by_side import save_together
from headscope.figures.style import description
from headscope.surfaces.app.kept import KeptReading
from headscope.surfaces.app.predictions import attribution, weighed
from headscope.surfaces.app.shown_table import shown_table
from headscope.surfaces.page import page
from headscope.surfaces.view import FIGURES
from headscope.views import Sending, ViewData, discover, draw
from headscope.views.matrix import check_comparable
from headscope.views.shared.labels import as_labels
from headscope.views.shared.state import options_of, state_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGEST = 40  # characters of a target
TYPES = {
    "html": "text/html; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
    "csv": "text/csv; charset=utf-8",
    "safetensors": "application/octet-stream",
}


def runs_model(query: Mapping[str, str]) -> bool:
    """Whether the export runs the model: a reading stores no attributions or weightings."""
    return query.get("view") == "prediction" or _weighting(query) != "weight"


def _target(state: Mapping[str, Any]) -> str | None:
    """The selected answer; None: the likeliest."""
    return (state.get("target") or "")[:LONGEST] or None


def _weighting(query: Mapping[str, str]) -> Literal["weight", "norm", "logit"]:
    """The weighting, in a view that has one; two readings are drawn by weight alone."""
    known = getattr(discover().get(query.get("view", "head")), "OPTIONS", {})
    asked = query.get("weighting")
    if asked in ("norm", "logit") and "weighting" in known and not query.get("other"):
        return asked
    return "weight"


def export(
    kept: KeptReading, query: Mapping[str, str], other: KeptReading | None = None
) -> tuple[bytes, str, str]:
    """The file's bytes, its type and its name; `other` is the reading it is compared with.

    With two readings the file has both, each on its own heads, or their difference.
    """
    kind = query.get("format", "")
    if kind not in TYPES:
        raise BadInput(f"The app exports {', '.join(TYPES)}, not {kind[:40]!r}.")
    name = query.get("view", "head")
    if name not in discover():
        raise BadInput(f"There is no view called {name[:40]!r}.")
    weighting = _weighting(query)
    query = {**query, "weighting": weighting}
    if weighting != "weight" and not kept.has_media:  # anew: the one kept may be of another answer
        kept = weighed(kept, weighting, _target(query))
    sides = [_side(kept, name, query)]
    if other is not None and not _differs(name, sides[0].state):
        sides.append(_side(other, name, _of_other(kept, other, query)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _file_name(kept, name, sides[0].state, kind)
        if kind == "safetensors":
            kept.reading.save(path)
        elif kind == "csv":
            _save_table(sides, name, path)
        elif kind in FIGURES:
            _save_figures(sides, name, other, path)
        else:
            path.write_text(page([_data(side, name, query, other) for side in sides]), "utf-8")
        return path.read_bytes(), TYPES[kind], path.name


@dataclass(frozen=True)
class _Side:
    """One reading and its state on screen."""

    kept: KeptReading
    state: dict[str, Any]
    source: Any  # the reading, or the selected answer's attribution


def _side(kept: KeptReading, name: str, query: Mapping[str, str]) -> _Side:
    state = state_of(query, kept.reading)
    part = kept.reading.part(state["kind"])
    state.setdefault("layer", part.numbers[0])
    state.setdefault("head", 0)
    state.setdefault("heads", [state["head"]])
    if "other_head" in query:
        layer, _, head = query["other_head"].partition("-")
        if not (layer.isdecimal() and head.isdecimal()):
            raise BadInput(f"other_head is a layer and a head, not {query['other_head'][:40]!r}.")
        state["other_head"] = (int(layer), int(head))
    return _Side(kept, state, _source(kept, name, state))


def _differs(name: str, state: Mapping[str, Any]) -> bool:
    """Whether one picture shows the two readings, as the matrix view can."""
    return "other" in discover()[name].draw.__annotations__ and state.get("reading") in (
        "other",
        "difference",
    )


def _of_other(kept: KeptReading, other: KeptReading, query: Mapping[str, str]) -> dict[str, str]:
    """The state of the second picture: its own head, and tokens only where it has the same."""
    asked = dict(query)
    layer, _, head = asked.pop("other_head", "").partition("-")
    same = (asked.get("layer"), asked.get("head")) == (layer, head)
    if layer and not same:
        asked |= {"layer": layer, "head": head, "heads": head}
    kind = asked.get("kind") or kept.reading.part().kind
    if kind not in other.reading.parts:
        asked["kind"] = other.reading.part().kind
    mine, theirs = (
        [part.query.labels for part in one.reading.parts.values() if part.kind == kind]
        for one in (kept, other)
    )
    if not mine or mine != theirs:
        for name in ("query", "key", "also"):
            asked.pop(name, None)
    return asked


def _file_name(kept: KeptReading, name: str, state: Mapping[str, Any], kind: str) -> str:
    """From model, view and head, so that the files of one session differ."""
    model = re.sub(r"[^\w.-]+", "-", kept.model.rstrip("/").split("/")[-1]) or "model"
    heads = state.get("heads")
    head = f"-{state['layer']}-{state['head']}"
    if name in ("model", "head_map", "prediction"):
        head = ""
    elif name not in ("neuron", "matrix") and (heads is None or len(heads) != 1):
        head = f"-layer-{state['layer']}"
    shown = "-reading" if kind == "safetensors" else f"-{name.replace('_', '-')}{head}"
    return f"{model}{shown}.{kind}"


def _save_table(sides: Sequence[_Side], name: str, path: Path) -> None:
    import pandas as pd

    tables = [shown_table(name, side.source, side.state) for side in sides]
    if len(tables) > 1:
        titles = [f"{side.kept.model}: {side.kept.text}" for side in sides]
        for table, title in zip(tables, titles, strict=True):
            table.insert(0, "reading", title)
    pd.concat(tables, ignore_index=True).to_csv(path, index=False)


def _save_figures(sides: Sequence[_Side], name: str, other: KeptReading | None, path: Path) -> None:
    compared = other if _differs(name, sides[0].state) else None
    if compared is not None and sides[0].state["reading"] == "difference":
        check_comparable(sides[0].kept.reading, compared.reading)
    figures = [_figure(side, name, compared, side.state) for side in sides]
    if len(figures) == 1:
        save(figures[0], path)
        return
    largest = max(float((description(one) or {}).get("largest") or 0.0) for one in figures)
    if largest:  # a shared scale
        figures = [_figure(side, name, None, side.state | {"largest": largest}) for side in sides]
    save_together(figures, path)


def _figure(side: _Side, name: str, other: KeptReading | None, state: Mapping[str, Any]) -> Figure:
    labels = as_labels(side.kept.labels, state["kind"])
    return draw(
        name, side.source, state, labels=labels, other=None if other is None else other.reading
    )


def _source(kept: KeptReading, name: str, state: Mapping[str, Any]) -> Any:
    """The source of a view: the reading, or the selected answer's attribution."""
    if name != "prediction":
        return kept.reading
    token = str(state.get("token") or "")
    rather = (state.get("rather") or "")[:LONGEST] or None
    return attribution(kept, _target(state), rather, int(token) if token.isdecimal() else None)


def _data(side: _Side, name: str, query: Mapping[str, str], other: KeptReading | None) -> ViewData:
    """The view's data from its own `build`, in the state on screen."""
    kept, state = side.kept, side.state
    sending = Sending(
        state.get("theme", "auto"),
        kept.labels,  # pyright: ignore[reportArgumentType]
        neurons=None if name != "neuron" else True,
    )
    compared: dict[str, Any] = {}
    if other is not None and _differs(name, state):
        check_comparable(kept.reading, other.reading)
        compared = {"other": other.reading}
    built = discover()[name].build(side.source, sending=sending, kind=state["kind"], **compared)
    # what an address omits is the page's default, not a new view's opening state
    open_on = {*options_of(*discover().values()), "query", "key", "columns"}
    opened = {name: value for name, value in built.header["state"].items() if name not in open_on}
    shown = {name: value for name, value in state.items() if name != "other_head"}
    return ViewData({**built.header, "state": {**opened, **shown}}, built.buffers)
