"""Discovery: what extends headscope is found by looking, in our own folders and among packages.

A statistic, a pattern, a view, a mode, a family, a treebank format, a command or a study is one
file in its folder. Other packages add theirs through entry points. A name that two of them claim is
an error, never a matter of which was found first.
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
    """What lies in one of our packages, by name and in order; nothing is imported."""
    return tuple(entry.name for entry in _entries(package))


def files(package: str) -> tuple[str, ...]:
    """The same without the folders."""
    return tuple(entry.name for entry in _entries(package) if not entry.ispkg)


def _entries(package: str) -> list[pkgutil.ModuleInfo]:
    folder = str(_ROOT.joinpath(*package.split(".")[1:]))
    folders = getattr(sys.modules.get(package), "__path__", [folder])
    return sorted(pkgutil.iter_modules(folders), key=lambda entry: entry.name)


def modules(package: str, group: str | None = None) -> list[ModuleType]:
    """Every module of one of our packages, and what other packages add to an entry point group."""
    own = [importlib.import_module(f"{package}.{name}") for name in names(package)]
    return [*own, *(plugins(group) if group else ())]


def plugins(group: str) -> list[Any]:
    """What other packages add to an entry point group."""
    from importlib.metadata import entry_points  # a third of what `import headscope` may take

    return [entry.load() for entry in entry_points(group=group)]


def by_name(found: Iterable[tuple[str, Found]], what: str) -> dict[str, Found]:
    """The things found by their names; two of one name are an error."""
    known: dict[str, Found] = {}
    for name, one in found:
        if name in known:
            raise ValueError(f"Two {what} are called {name!r}; rename one.")
        known[name] = one
    return known
