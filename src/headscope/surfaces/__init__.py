"""Surfaces: where views appear. Every view's function (`head_view`, …) is available by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headscope.front_door import view_functions

if TYPE_CHECKING:
    from headscope.surfaces.view import View as View

__all__ = ["View"]


def __getattr__(name: str) -> Any:
    if name == "View":
        from headscope.surfaces.view import View

        return View
    if name in view_functions().values() or _added(name):
        from headscope.surfaces.functions import functions

        return functions()[name]
    raise AttributeError(f"module 'headscope.surfaces' has no attribute {name!r}")


def _added(name: str) -> bool:
    """Whether another package has a view for that function; imports nothing if not."""
    from importlib.metadata import entry_points

    if name.startswith("_") or not entry_points(group="headscope.views"):
        return False
    from headscope.surfaces.functions import functions

    return name in functions()


def __dir__() -> list[str]:
    return [*__all__, *view_functions().values()]
