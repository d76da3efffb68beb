"""Which views there are: every module of `views` with a `NAME`, and those of other packages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, cast

from headscope.discovery import by_name, modules

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from headscope.views.wire.container import ViewData
    from headscope.views.wire.frame import Sending

GROUP = "headscope.views"


class ViewModule(Protocol):
    NAME: str
    SHOWS: str

    def build(
        self, source: Any, *selected: Any, sending: Sending | None = None, **selection: Any
    ) -> ViewData: ...

    def draw(self, source: Any, state: Mapping[str, Any], **more: Any) -> Figure: ...


@lru_cache
def discover() -> Mapping[str, ViewModule]:
    """Every view by its name."""
    every = modules("headscope.views", GROUP)
    views = (cast("ViewModule", module) for module in every if hasattr(module, "NAME"))
    return by_name(((view.NAME, view) for view in views), "views")
