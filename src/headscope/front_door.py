"""Packages whose names are imported on first use, as their stub lists them.

A package's `__init__.pyi` is the one list of its public names: editors and type checkers read it,
and `attach` reads it too. `from headscope.reading import load as load` says where `load` lives.
Views and studies are found by the names of their files, so that a new one needs no line in a list;
`python -m tests.front_door_stub` declares them in the stubs.

A folder and a function may share a name: `hs.atlas(…)` is a function and `headscope.atlas` holds
its code. Python binds an imported folder as an attribute of its parent, so `hs.atlas` would turn
into a module once any file of that folder is imported. `FrontDoor` keeps the public name. Its
functions check their arguments against their annotations (`checked`).
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from headscope.discovery import files

VIEWS = "headscope.surfaces"


class FrontDoor(ModuleType):
    """A package whose public names are looked up in its stub, and are never shadowed."""

    homes: dict[str, tuple[str, str]]  # module and name there, by public name

    def __getattr__(self, name: str) -> Any:
        home = self.homes.get(name)
        if home is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        module, there = home
        if module == self.__name__:  # a public module, such as hs.probe
            found = importlib.import_module(f"{module}.{there}")
        else:
            found = getattr(importlib.import_module(module), there)
            if isinstance(found, FunctionType):
                from headscope.checked import checked

                found = checked(found)
        self.__dict__[name] = found
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        home = self.homes.get(name)
        if isinstance(value, ModuleType) and home is not None and home[0] != self.__name__:
            return  # the import system binds a folder that shares its name with a function
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*self.homes, *(name for name in self.__dict__ if name.startswith("__"))})


def attach(package: str, found: Mapping[str, tuple[str, str]] | None = None) -> list[str]:
    """Serve a package's public names from its stub.

    Parameters
    ----------
    package
        The package's name, such as "headscope.circuits".
    found
        More public names, which are found by looking in a folder: the module of each, and its name
        there. The stub declares them too, but does not say where they live.

    Returns
    -------
    list of str
        The public names, for `__all__`.
    """
    module = sys.modules[package]
    homes = stub_names(Path(str(module.__file__)).with_suffix(".pyi"))
    homes |= found or {}
    module.__dict__["homes"] = homes
    module.__class__ = FrontDoor
    return sorted(homes)


def stub_names(stub: Path) -> dict[str, tuple[str, str]]:
    """Module and name there, for every public name of a stub."""
    found: dict[str, tuple[str, str]] = {}
    for node in ast.parse(stub.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.asname is not None:  # a stub's form for a public name
                    found[alias.asname] = str(node.module), alias.name
    return found


@lru_cache
def view_functions() -> Mapping[str, str]:
    """The public function of every view by the view's name: {"head": "head_view", …}.

    Each file of `views/` is a view, so that listing them imports nothing.
    """
    return {name: function_of(name) for name in files("headscope.views")}


def function_of(view: str) -> str:
    """The public function of a view."""
    return view if view.startswith("head_") else f"{view}_view"
