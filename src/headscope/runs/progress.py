"""How far a run has come, told while it goes on: one kind of message, one bar."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Where a run stands; `total` is None while the end is not in sight."""

    done: int  # documents, sentences, steps: whatever the run counts
    total: int | None = None
    segments: int = 0
    tokens: int = 0
    title: str = ""  # what the run is doing: "Surveying"
    note: str = ""  # anything else worth seeing: "loss 0.123"


ProgressCallback = Callable[[Progress], None]


@contextlib.contextmanager
def showing(progress: bool | ProgressCallback) -> Generator[ProgressCallback]:
    """What shows progress: the caller's own function, a bar on a terminal, or nothing."""
    if not isinstance(progress, bool):
        yield progress
    elif progress and sys.stderr.isatty():
        with _bar() as show:
            yield show
    else:
        yield lambda progress: None


@contextlib.contextmanager
def _bar() -> Generator[ProgressCallback]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("", total=None)
        last = ""

        def show(progress: Progress) -> None:
            nonlocal last
            if progress.title != last:  # another part of the run: its time left is its own
                last = progress.title
                bar.reset(task)
            bar.update(
                task,
                description=words(progress),
                completed=progress.done,
                total=progress.total,
            )

        yield show


def words(progress: Progress) -> str:
    """What stands before the bar."""
    tokens = f"{progress.tokens:,} tokens" if progress.tokens else ""
    return ", ".join(part for part in (progress.title, tokens, progress.note) if part)
