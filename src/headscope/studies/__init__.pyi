from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headscope.reading import Scope
from headscope.runs import ProgressCallback
from headscope.studies.pieces import Section as Section
from headscope.studies.report import Report as Report

STUDIES: tuple[str, ...]

# below: python -m tests.front_door_stub
def clark(
    scope: Scope,
    data: str | Path | None = None,
    *,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
    command: str | None = None,
) -> Report:
    """The experiments of Clark et al. (2019) in order."""

def kovaleva(
    scope: Scope,
    data: str | Path | None = None,
    *,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
    command: str | None = None,
    finetuned: Mapping[str, Any] | None = None,
) -> Report:
    """The experiments of Kovaleva et al. (2019) in order."""

def rxnmapper(
    scope: Scope,
    data: str | Path | None = None,
    *,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
    command: str | None = None,
) -> Report:
    """Heads of RXNMapper by mapped reactions."""

def vig(
    scope: Scope,
    data: str | Path | None = None,
    *,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
    command: str | None = None,
) -> Report:
    """The seven patterns of Vig (2018, 2019) on any model, down to the neurons."""

def whisper(
    scope: Scope,
    data: str | Path | None = None,
    *,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
    command: str | None = None,
) -> Report:
    """Cross heads of a speech model by word times."""
