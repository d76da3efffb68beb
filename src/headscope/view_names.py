"""Which views there are, read from their files: naming them must not import what draws them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

FOLDER = Path(__file__).parent / "views"
_CONSTANT = re.compile(r'^(NAME|FUNCTION) = "(\w+)"$', re.M)


@lru_cache
def view_functions() -> Mapping[str, str]:
    """The public function of every view by the view's name: {"head": "head_view", …}."""
    found: dict[str, str] = {}
    for path in sorted(FOLDER.glob("*.py")):
        constants = dict(_CONSTANT.findall(path.read_text("utf-8")))
        if "NAME" in constants:
            found[constants["NAME"]] = constants.get("FUNCTION", f"{constants['NAME']}_view")
    return found
