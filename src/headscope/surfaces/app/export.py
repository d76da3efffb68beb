"""What is on the app's screen, as a file."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headscope.errors import BadInput
from headscope.surfaces.app.patterns import labels_of
from headscope.surfaces.app.readings import Kept
from headscope.surfaces.view import FIGURES, View
from headscope.views import Sending, discover
from headscope.views.state import CHOICES

TYPES = {
    "html": "text/html; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
    "safetensors": "application/octet-stream",
}
_NUMBERS = ("layer", "head", "query", "key")
_BY_VIEW = {
    "head": ("layer", "heads", "kind", "query", "key"),
    "model": ("heads", "kind"),
    "neuron": ("layer", "head", "token", "kind"),
    "matrix": ("layer", "head", "kind"),
    "headmap": ("column", "kind"),
}


def export(kept: Kept, query: Mapping[str, str]) -> tuple[bytes, str, str]:
    """The file's bytes, its type and its name; the state is written as in the page's address."""
    kind = query.get("format", "")
    if kind not in TYPES:
        raise BadInput(f"The app exports {', '.join(TYPES)}, not {kind!r}.")
    name = query.get("view", "head")
    if name not in discover():
        raise BadInput(f"There is no view called {name!r}.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"headscope-{name}.{kind}"
        if kind == "safetensors":
            path = path.with_name("reading.safetensors")
            kept.reading.save(path)
        else:
            _view(kept, name, query, figure=kind in FIGURES).save(path)
        return path.read_bytes(), TYPES[kind], path.name


def _view(kept: Kept, name: str, query: Mapping[str, str], figure: bool) -> View:
    state: dict[str, Any] = {key: query[key] for key in CHOICES if query.get(key)}
    theme = state.pop("theme", "auto")
    if "minimum" in query:
        state["minimum"] = query["minimum"]
    state |= {key: _number(query[key], key) for key in _NUMBERS if query.get(key)}
    if query.get("heads"):
        heads = None if query["heads"] == "all" else query["heads"].split(".")
        part = kept.reading.part(query.get("kind"))  # pyright: ignore[reportArgumentType]
        state["heads"] = (
            list(range(part.heads)) if heads is None else [_number(one, "heads") for one in heads]
        )
    if query.get("kind"):
        state["kind"] = query["kind"]
    if query.get("column"):
        state["column"] = query["column"]
    if name == "neuron" and "query" in state:
        state["token"] = state.pop("query")
    allowed = {*_BY_VIEW[name], *CHOICES, "minimum"} - {"reading"}
    chosen = {key: value for key, value in state.items() if key in allowed}
    neurons = None if figure else name == "neuron" or None
    return View(name, kept.reading, Sending(theme, labels_of(kept.scores), neurons), chosen)  # pyright: ignore[reportArgumentType]


def _number(text: str, name: str) -> int:
    if not text.isdigit():
        raise BadInput(f"{name} is a whole number.")
    return int(text)
