"""Discovery: finds extensions of headscope in its own folders and in other packages.

A statistic, a pattern, a view, a mode, a family, a treebank format, a command or a study is one
file in its folder. Other packages add theirs through entry points. Two extensions with the same
name raise an error.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

Found = TypeVar("Found")
_ROOT = Path(__file__).parent


def names(package: str) -> tuple[str, ...]:
    """The modules and folders of one of headscope's packages, by name; nothing is imported."""
    return tuple(entry.name for entry in _entries(package))


def files(package: str) -> tuple[str, ...]:
    """The modules alone."""
    return tuple(entry.name for entry in _entries(package) if not entry.ispkg)


def _entries(package: str) -> list[pkgutil.ModuleInfo]:
    folder = str(_ROOT.joinpath(*package.split(".")[1:]))
    folders = getattr(sys.modules.get(package), "__path__", [folder])
    return sorted(pkgutil.iter_modules(folders), key=lambda entry: entry.name)


def modules(package: str, group: str | None = None) -> list[ModuleType]:
    """Every module of one of headscope's packages, and other packages' entry points of a group."""
    own = [importlib.import_module(f"{package}.{name}") for name in names(package)]
    return [*own, *(plugins(group) if group else ())]


def plugins(group: str) -> list[Any]:
    """Other packages' entry points of a group."""
    from importlib.metadata import entry_points  # a third of what `import headscope` may take

    return [entry.load() for entry in entry_points(group=group)]


def by_name(found: Iterable[tuple[str, Found]], what: str) -> dict[str, Found]:
    """The extensions by name; two with the same name raise an error."""
    known: dict[str, Found] = {}
    for name, one in found:
        if name in known:
            raise ValueError(f"Two {what} are called {name!r}; rename one.")
        known[name] = one
    return known
