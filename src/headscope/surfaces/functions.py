"""The public function of every view, made from the view's own file.

`hs.head_view(reading, layer, heads, theme="dark")` hands on what the view's `build` takes, and adds
what every view takes: a theme, labels, whether q and k travel along, the bytes a page may take,
and the layers and queries it is narrowed to.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from headscope.arguments import need_reading
from headscope.errors import BadInput
from headscope.reading import Reading
from headscope.reading.memory import bytes_of
from headscope.renamed import renamed
from headscope.surfaces.view import View
from headscope.view_names import view_functions
from headscope.views import Sending, ViewModule, discover
from headscope.views.labels import labels_for
from headscope.views.state import CHOICES, FREE, checked

if TYPE_CHECKING:
    from headscope.views.labels import Labels

ViewFunction = Callable[..., View]


@lru_cache
def functions() -> dict[str, ViewFunction]:
    """Every view's function by its public name."""
    names = view_functions()  # of our own views; those of other packages say theirs themselves
    found: dict[str, ViewFunction] = {}
    for name, module in discover().items():
        public = names.get(name) or getattr(module, "FUNCTION", f"{name}_view")
        found[public] = _function(public, module)
    return found


def _function(public: str, module: ViewModule) -> ViewFunction:
    signature = inspect.signature(module.build)

    def show(
        *selected: Any,
        theme: str = "auto",
        labels: Labels | None = None,
        neurons: bool | None = None,
        budget: str | int | None = None,
        layers: Collection[int] | None = None,
        queries: tuple[int, int] | None = None,
        **options: Any,
    ) -> View:
        found = signature.bind(*selected, **options)
        chosen = dict(found.arguments)
        first = next(iter(signature.parameters))
        source = chosen.pop(first)
        if first == "reading":
            need_reading(source)
        if isinstance(chosen.get("heads"), int):
            chosen["heads"] = [chosen["heads"]]  # one head, said plainly
        _refuse_options_of_others(module, chosen.get("options", {}))
        chosen |= chosen.pop("options", {})
        sending = sending_for(source, theme, labels, neurons, budget)
        if layers is not None or queries is not None:
            source = _narrowed(source, layers, queries)
        return View(module.NAME, source, sending, chosen)

    show = renamed(**getattr(module, "OLD_NAMES", {}))(show)
    show.__name__ = show.__qualname__ = public
    show.__doc__ = f"{module.SHOWS[0].upper()}{module.SHOWS[1:]}.\n\n{module.build.__doc__ or ''}"
    show.__signature__ = _with_what_all_take(signature, inspect.signature(show))  # pyright: ignore[reportFunctionMemberAccess]
    return show


def _refuse_options_of_others(module: ViewModule, options: dict[str, Any]) -> None:
    """An option that only other views have would be passed over in silence."""
    own = getattr(module, "OPTIONS", {})
    others = {name for view in discover().values() for name in getattr(view, "OPTIONS", {})}
    for name in options:
        if name in others and name not in own and name not in {*CHOICES, *FREE}:
            raise BadInput(f"The {module.NAME} view has no option {name!r}; other views do.")


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


def _with_what_all_take(own: inspect.Signature, shared: inspect.Signature) -> inspect.Signature:
    added = [each for each in shared.parameters.values() if each.kind is each.KEYWORD_ONLY]
    kept = [each for name, each in own.parameters.items() if name != "sending"]
    last = [each for each in kept if each.kind is each.VAR_KEYWORD]
    first = [each for each in kept if each.kind is not each.VAR_KEYWORD]
    return inspect.Signature([*first, *added, *last], return_annotation=View)
