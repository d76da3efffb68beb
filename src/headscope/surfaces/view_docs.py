"""What help() says of a view's function, made from the view's file and one list of meanings.

A view adds meanings of its own arguments as `MEANINGS`, and what it is shown of as `EXAMPLE`.
"""

from __future__ import annotations

import inspect
import textwrap
from typing import Any

from headscope.views import ViewModule

READING = 'hs.load().read("The cat sat on the mat.")'
MEANINGS = {
    "reading": "What the model read.",
    "source": "What is shown.",
    "layer": "The layer the view opens on; by default that of a clear head.",
    "head": "The head the view opens on, counted from 0; by default a clear one.",
    "heads": "The heads that are switched on, in place of `head`.",
    "kind": '"encoder", "decoder" or "cross"; by default the first that there is.',
    "query": "The token that is selected as the query; none by default.",
    "key": "The token that is selected as the key; none by default.",
    "theme": 'Colours: "auto" (the default, as the reader\'s screen), "light" or "dark".',
    "labels": "Labels of heads; by default those found on this text, and none for ().",
    "neurons": "Whether queries and keys travel with the page; by default where there is room.",
    "budget": 'The most bytes of a page, such as "20 MB"; by default as many as it needs.',
    "layers": "The layers that the page keeps; all by default.",
    "queries": "The first query that the page keeps and the one after the last; all by default.",
    "filter": 'From which sentence to which: "all" (the default), "aa", "ab", "ba" or "bb".',
    "specials": 'Special tokens: "shown" (the default), "hidden", or "renormalised" without them.',
    "first": 'The first token as a key: "shown" (the default) or "hidden".',
    "unit": 'What is drawn as one: "tokens" (the default) or "words".',
    "minimum": "Weights below it are left out; 0 by default.",
    "scale": 'How opacity follows the weight: "linear" (the default) or "sqrt".',
    "orientation": 'How tokens run: "vertical" (the default) or "horizontal".',
    "direction": 'Of the script: "auto" (the default), "ltr" or "rtl".',
    "thumbnails": 'Small pictures of heads: "maps" (the default) or "lines".',
    "order": 'Heads by "number" (the default) or strongest "label" first.',
    "find": "Only heads whose label contains this text; all by default.",
    "sort": 'Neurons by "number" (the default) or by "contribution".',
    "wrap": "Whether long rows of neurons wrap; False by default.",
    "marked": "Numbers of neurons that are marked; none by default.",
    "column": "The number that colours a map of heads; the first by default.",
    "weighting": 'What is drawn: "weight" (the default), or "norm" or "logit" of what it moves.',
    "x": "The measure on the horizontal axis; by default one that was measured.",
    "y": "The measure on the vertical axis; by default one that was measured.",
    "colour": "The measure that colours a point; the layer by default.",
    "size": "The measure that sizes a point; by default all have one size.",
    "panels": 'One plane of "heads" (the default), of "clusters", or one for each of "layers".',
    "side": 'Whether the selected tokens are the "query" (the default) or the "key".',
    "also": "Further selected tokens; none by default.",
}


def docstring(public: str, module: ViewModule, signature: inspect.Signature) -> str:
    """Summary, Parameters, Returns and Examples."""
    meanings = {**MEANINGS, **getattr(module, "MEANINGS", {})}
    taken = [f"{name}\n    {meanings.get(name, 'An option of this view.')}"
             for name in signature.parameters]  # fmt: skip
    shown = getattr(module, "EXAMPLE", READING)
    skip = "  # doctest: +SKIP" if "…" in shown else ""
    sections: list[tuple[str, Any]] = [
        ("Parameters", "\n".join(taken)),
        ("Returns", 'View\n    Shows itself in a notebook; `save("page.html")` writes it.'),
        ("Examples", f">>> import headscope as hs\n>>> view = hs.{public}({shown}){skip}"),
    ]  # fmt: skip
    about = textwrap.dedent(f"{module.SHOWS[0].upper()}{module.SHOWS[1:]}.")
    return "\n\n".join([about, *(f"{name}\n{'-' * len(name)}\n{text}" for name, text in sections)])
