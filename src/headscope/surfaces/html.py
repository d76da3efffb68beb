"""Templates: HTML files beside the code that fills them, where every value is escaped as text."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_LOADER = FileSystemLoader(Path(__file__).parents[1])


def render(
    template: str, filters: Mapping[str, Callable[..., Any]] | None = None, /, **values: Any
) -> str:
    """template: a path inside the package, such as surfaces/page.html."""
    environment = Environment(
        loader=_LOADER,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= filters or {}
    return environment.get_template(template).render(values)


def digest(text: str) -> str:
    """The hash of a script or a style for a Content-Security-Policy."""
    found = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(found).decode('ascii')}'"
