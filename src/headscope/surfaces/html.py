"""Templates: HTML files beside the code that fills them, where every value is escaped as text."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined


@lru_cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parents[1]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, **values: Any) -> str:
    """template: a path inside the package, such as surfaces/page.html."""
    return _environment().get_template(template).render(values)


def digest(text: str) -> str:
    """By which a Content-Security-Policy knows a script or a style."""
    found = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(found).decode('ascii')}'"
