"""The app: a local server that reads what you type and shows it, on your own machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope.surfaces.app.models import Models as Models
    from headscope.surfaces.app.server import create_app as create_app

__all__ = ["Models", "create_app"]


def __getattr__(name: str) -> Any:
    """Import on first use: the page needs neither, and opens before torch is imported."""
    if name == "Models":
        from headscope.surfaces.app.models import Models

        return Models
    if name == "create_app":
        from headscope.surfaces.app.server import create_app

        return create_app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
