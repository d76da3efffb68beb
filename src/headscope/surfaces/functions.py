"""The public function of every view, made from the view's own file.

`hs.head_view(reading, layer, heads, theme="dark")` passes the arguments of the view's `build`, and
adds those of every view: a theme, labels, whether to include q and k, the page's budget in bytes,
its layers and queries, and the options of the screen. A view of one head takes `head=` or a list of
one as `heads=`; a view of several takes either. The text of `help()` comes from the view's file
(`MEANINGS`, `EXAMPLE`) and one list of meanings.
"""

from __future__ import annotations

import difflib
import inspect
import textwrap
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, get_args, get_origin

from headscope.arguments import need_reading
from headscope.errors import BadInput
from headscope.front_door import function_of
from headscope.reading import Reading
from headscope.reading.memory import bytes_of
from headscope.surfaces.view import View
from headscope.views import Sending, ViewModule, discover
from headscope.views.shared.labels import Labels, labels_for
from headscope.views.shared.state import SELECTION, checked, options_of, several

ViewFunction = Callable[..., View]
NAMED = inspect.Parameter.KEYWORD_ONLY
HIDDEN = (*SELECTION, "reading")  # the page alone chooses between two readings
HEAD = {"head": "int | None", "heads": "Sequence[int] | int | None"}  # every view takes both


@lru_cache
def functions() -> dict[str, ViewFunction]:
    """Every view's function by its public name."""
    return {
        function_of(name): _function(function_of(name), module)
        for name, module in discover().items()
    }


def _function(public: str, module: ViewModule) -> ViewFunction:
    build = inspect.signature(module.build)
    signature = public_signature(module)
    first = next(iter(signature.parameters))

    def show(*selected: Any, **options: Any) -> View:
        _check_names(public, signature, options)
        given = dict(signature.bind(*selected, **options).arguments)
        source = given.pop(first)
        if first == "reading":
            need_reading(source)
        shared = {name: given.pop(name, None) for name in _SHARED}
        chosen = _with_heads(module.NAME, build, given)
        theme = shared["theme"] or "auto"
        sending = sending_for(source, theme, shared["labels"], shared["neurons"], shared["budget"])
        if shared["layers"] is not None or shared["queries"] is not None:
            source = _narrowed(source, shared["layers"], shared["queries"])
            if chosen.get("other") is not None:
                other = _narrowed(chosen["other"], shared["layers"], shared["queries"])
                chosen = {**chosen, "other": other}
        return View(module.NAME, source, sending, chosen)

    show.__name__ = show.__qualname__ = public
    show.__doc__ = docstring(public, module, signature)
    show.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    return show


def public_signature(module: ViewModule) -> inspect.Signature:
    """A view function's signature: its `build`'s arguments, both head= and heads=, the arguments of
    all views, and the options of the screen."""
    own = inspect.signature(module.build).parameters
    taken = {
        name: each.replace(annotation=_head_type(own, name, each.annotation))
        for name, each in own.items()
        if name != "sending" and each.kind is not each.VAR_KEYWORD
    }
    if ("head" in taken or "heads" in taken) and not _marks(own):
        _add(taken, HEAD)
    _add(taken, _SHARED)
    options = {name: _annotation(kind) for name, kind in options_of(module).items()}
    _add(taken, {name: kind for name, kind in options.items() if name not in HIDDEN})
    return inspect.Signature(list(taken.values()), return_annotation=View)


def _marks(own: Mapping[str, inspect.Parameter]) -> bool:
    """Whether heads= of this view are (layer, head) pairs to mark, because it shows all layers."""
    return "heads" in own and own["heads"].annotation == "Pairs"


def _head_type(own: Mapping[str, inspect.Parameter], name: str, annotation: str) -> str:
    if _marks(own):
        return "Sequence[tuple[int, int]]" if name == "heads" else annotation
    return HEAD.get(name, annotation)


_SHARED = {
    "theme": 'Literal["auto", "light", "dark"]',
    "labels": "Labels | None",
    "neurons": "bool | None",
    "budget": "str | int | None",
    "layers": "Collection[int] | None",
    "queries": "tuple[int, int] | None",
}


def _add(taken: dict[str, inspect.Parameter], more: Mapping[str, str]) -> None:
    for name, annotation in more.items():
        if name not in taken:
            default = "auto" if name == "theme" else None
            taken[name] = inspect.Parameter(name, NAMED, default=default, annotation=annotation)


def _annotation(kind: Any) -> str:
    """A type's name in the signature."""
    plain = kind.__origin__ if get_origin(kind) is Annotated else kind
    if get_origin(plain) is Literal:
        values = ", ".join(f'"{one}"' for one in get_args(plain))
        return f"Literal[{values}] | None"
    return "Sequence[Any] | None" if get_origin(plain) is list else f"{plain.__name__} | None"


def _check_names(public: str, signature: inspect.Signature, options: Mapping[str, Any]) -> None:
    for name in options:
        if name not in signature.parameters:
            near = difflib.get_close_matches(name, signature.parameters, 1)
            hint = f"did you mean {near[0]}=?" if near else f"see help(hs.{public})."
            raise BadInput(f"hs.{public} has no option {name!r}; {hint}")


def _with_heads(view: str, build: inspect.Signature, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments for `build`, with head= and heads= under its own name."""
    chosen = {name: value for name, value in given.items() if value is not None}
    if _marks(build.parameters):
        return chosen
    if "head" in chosen and "heads" in chosen:
        raise BadInput("Give head= for one head or heads= for several, not both.")
    if "head" in chosen and "head" not in build.parameters:
        chosen["heads"] = [chosen.pop("head")]
    elif "heads" in chosen:
        heads = several(chosen["heads"]) or []
        if "heads" in build.parameters:
            chosen["heads"] = heads
        elif len(heads) == 1:
            del chosen["heads"]
            chosen["head"] = heads[0]
        else:
            raise BadInput(f"The {view} view shows one head; give head=, not {len(heads)} heads.")
    return chosen


def sending_for(
    source: Any,
    theme: str,
    labels: Labels | None = None,
    neurons: bool | None = None,
    budget: str | int | None = None,
) -> Sending:
    """Labels given by the caller, else those found on this text; `labels=()` shows none."""
    checked({"theme": theme})
    most = None if budget is None else bytes_of(budget)
    if labels is None and isinstance(source, Reading):
        labels = labels_for(source)
    return Sending(theme, labels, neurons, budget=most)


def _narrowed(
    source: Any, layers: Collection[int] | None, queries: tuple[int, int] | None
) -> Reading:
    if not isinstance(source, Reading):
        raise BadInput("layers= and queries= narrow a reading, not a survey.")
    return source.narrowed(layers, queries)


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
    "budget": 'The most bytes of a page, such as "5 MB"; 25 MB by default.',
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
