"""How far a run over a corpus has come, told while it goes on."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass


@dataclass(frozen=True)
class Report:
    """Where a run stands; `total` is None for a corpus whose end is not in sight."""

    done: int  # documents, or segments where their number is limited
    total: int | None
    segments: int
    tokens: int


Tell = Callable[[Report], None]


@contextlib.contextmanager
def telling(progress: bool | Tell, title: str = "Surveying") -> Generator[Tell]:
    """A function that shows reports: the caller's own, a bar on a terminal, or nothing."""
    if not isinstance(progress, bool):
        yield progress
    elif progress and sys.stderr.isatty():
        with _bar(title) as tell:
            yield tell
    else:
        yield lambda report: None


@contextlib.contextmanager
def _bar(title: str) -> Generator[Tell]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[tokens]:,} tokens"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(title, total=None, tokens=0)

        def tell(report: Report) -> None:
            bar.update(task, completed=report.done, total=report.total, tokens=report.tokens)

        yield tell
