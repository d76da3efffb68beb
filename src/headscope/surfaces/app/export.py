"""What is on the app's screen, as a file: the state of the page, drawn once more."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from headscope.errors import BadInput
from headscope.figures import save
from headscope.surfaces.app.kept import KeptReading
from headscope.surfaces.app.predictions import attribution, weighed
from headscope.surfaces.page import page
from headscope.surfaces.view import FIGURES
from headscope.views import Sending, ViewData, discover, draw
from headscope.views.matrix import check_comparable
from headscope.views.shared.labels import as_labels
from headscope.views.shared.state import options_of, state_of

LONGEST = 40  # characters of a target
TYPES = {
    "html": "text/html; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
    "safetensors": "application/octet-stream",
}


def runs_model(query: Mapping[str, str]) -> bool:
    """What made an answer, and what attention carries, are not kept with a reading."""
    return query.get("view") == "prediction" or _weighting(query) != "weight"


def _target(state: Mapping[str, Any]) -> str | None:
    """The answer that is looked at; None: the likeliest."""
    return (state.get("target") or "")[:LONGEST] or None


def _weighting(query: Mapping[str, str]) -> Literal["weight", "norm", "logit"]:
    """What is drawn in place of the weight, by a view that can: two readings by weight alone."""
    known = getattr(discover().get(query.get("view", "head")), "OPTIONS", {})
    asked = query.get("weighting")
    if asked in ("norm", "logit") and "weighting" in known and not query.get("other"):
        return asked
    return "weight"


def export(
    kept: KeptReading, query: Mapping[str, str], other: KeptReading | None = None
) -> tuple[bytes, str, str]:
    """The file's bytes, its type and its name; `other` is the reading it is compared with."""
    kind = query.get("format", "")
    if kind not in TYPES:
        raise BadInput(f"The app exports {', '.join(TYPES)}, not {kind[:40]!r}.")
    name = query.get("view", "head")
    if name not in discover():
        raise BadInput(f"There is no view called {name[:40]!r}.")
    other = _compared(kept, query, other)
    weighting = _weighting(query)
    query = {**query, "weighting": weighting}
    if weighting != "weight" and not kept.has_media:  # anew: the one kept may be of another answer
        kept = weighed(kept, weighting, _target(query))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"headscope-{name}.{kind}"
        if kind == "safetensors":
            path = path.with_name("reading.safetensors")
            kept.reading.save(path)
        elif kind in FIGURES:
            _save_figure(kept, name, query, other, path)
        else:
            path.write_text(page(_data(kept, name, query, other)), "utf-8")
        return path.read_bytes(), TYPES[kind], path.name


def _save_figure(
    kept: KeptReading, name: str, query: Mapping[str, str], other: KeptReading | None, path: Path
) -> None:
    data = _data(kept, name, query, other)
    labels = as_labels(kept.labels, data.header["state"]["kind"])
    compared = _beside(discover()[name].draw, other).get("other")
    state = data.header["state"]
    save(draw(name, _source(kept, name, state), state, labels=labels, other=compared), path)


def _compared(
    kept: KeptReading, query: Mapping[str, str], other: KeptReading | None
) -> KeptReading | None:
    """Of two readings that differ in length each is looked at alone."""
    if other is None or query.get("reading", "this") != "this":
        return other
    try:
        check_comparable(kept.reading, other.reading)
    except BadInput:
        return None
    return other


def _beside(function: Callable[..., Any], other: KeptReading | None) -> dict[str, Any]:
    """The second of two readings, for a view that shows both in one picture."""
    takes = "other" in function.__annotations__
    return {"other": other.reading} if other is not None and takes else {}


def _source(kept: KeptReading, name: str, state: Mapping[str, Any]) -> Any:
    """What a view is a picture of: the reading, or what made the answer that is looked at."""
    if name != "prediction":
        return kept.reading
    token = str(state.get("token") or "")
    rather = (state.get("rather") or "")[:LONGEST] or None
    return attribution(kept, _target(state), rather, int(token) if token.isdecimal() else None)


def _data(
    kept: KeptReading, name: str, query: Mapping[str, str], other: KeptReading | None
) -> ViewData:
    """The view as its own file builds it, on the state that was on screen."""
    state = state_of(query, kept.reading)
    figure = query["format"] in FIGURES
    sending = Sending(
        state.get("theme", "auto"),
        kept.labels,  # pyright: ignore[reportArgumentType]
        neurons=None if figure or name != "neuron" else True,
        only=() if figure else None,  # a figure is drawn from the reading itself
    )
    compared = _beside(discover()[name].build, other)
    source = _source(kept, name, state)
    built = discover()[name].build(source, sending=sending, kind=state["kind"], **compared)
    # what an address leaves out is the page's default, not what a new view would open on
    open_on = {*options_of(*discover().values()), "query", "key", "columns"}
    opened = {name: value for name, value in built.header["state"].items() if name not in open_on}
    return ViewData({**built.header, "state": {**opened, **state}}, built.buffers)
