"""The app: a local server that reads what you type and shows it, on your own machine."""

from headscope.surfaces.app.models import Models
from headscope.surfaces.app.server import create_app

__all__ = ["Models", "create_app"]
