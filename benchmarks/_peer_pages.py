"""Pages that other tools make of the same attention, and the libraries they fetch when opened.

Used by benchmarks/views.py. Each maker returns a complete page; `serve` answers the requests the
pages make with the same files from npm, so that they draw without a network.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch

PEERS = Path(__file__).parents[1] / "build" / "peers"
LIBRARIES = {  # what BertViz asks a CDN for → the file in its npm package
    "require.min.js": "requirejs/require.js",
    "d3.min.js": "d3/dist/d3.min.js",
    "jquery.min.js": "jquery/dist/jquery.min.js",
}
PACKAGES = ("d3@5.7.0", "jquery@2.2.4", "requirejs@2.3.6")


def fetch_libraries() -> None:
    """From npm, once."""
    if not all((PEERS / "node_modules" / path).is_file() for path in LIBRARIES.values()):
        PEERS.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(PEERS), *PACKAGES]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def serve(route) -> None:
    name = route.request.url.split("?")[0].rpartition("/")[2]
    if name in LIBRARIES:
        body = (PEERS / "node_modules" / LIBRARIES[name]).read_bytes()
        route.fulfill(body=body, content_type="text/javascript")
    else:
        route.abort()


def _page(body: str) -> str:
    return f"<!doctype html><html><head><meta charset='utf-8'></head><body>{body}</body></html>"


def bertviz(view: str, weights: np.ndarray, tokens: list[str]) -> str:  # l h t t
    import bertviz

    attention = tuple(torch.from_numpy(layer)[None] for layer in weights)
    make = {"head": bertviz.head_view, "model": bertviz.model_view}[view]
    return _page(make(attention, tokens, html_action="return").data)


def circuitsvis(weights: np.ndarray, tokens: list[str]) -> str:  # h t t: one layer
    sys.modules.setdefault("importlib_metadata", importlib.metadata)
    from circuitsvis.attention import attention_heads
    from circuitsvis.utils import render

    render.internet_on = lambda: False
    return _page(attention_heads(weights, tokens).local_src)


def inspectus(weights: np.ndarray, tokens: list[str]) -> str:  # l h t t
    import inspectus as library
    import IPython.display as notebook

    shown: list[str] = []
    was = notebook.display
    notebook.display = lambda *things, **_: shown.extend(thing.data for thing in things)
    try:
        library.attention(weights, tokens)
    finally:
        notebook.display = was
    return _page("".join(shown))
