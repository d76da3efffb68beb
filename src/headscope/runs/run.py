"""A run: one output, one writer, one identity; it can be stopped at any moment and resumed."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from filelock import FileLock, Timeout

from headscope._version import __version__
from headscope.errors import BadInput, HeadscopeError, Stopped
from headscope.files import atomic_path, sweep
from headscope.interrupts import pending, remembered, uninterrupted, was_asked
from headscope.runs.identity import describe, differences
from headscope.runs.part import RunPart

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Progress:
    """A run's progress; `total` is None while the end is unknown."""

    done: int  # documents, sentences or steps
    total: int | None = None
    segments: int = 0
    tokens: int = 0
    title: str = ""  # what the run is doing: "Surveying"
    note: str = ""  # such as "loss 0.123"


ProgressCallback = Callable[[Progress], None]


@contextlib.contextmanager
def showing(progress: bool | ProgressCallback) -> Generator[ProgressCallback]:
    """The display of progress: the caller's function, a bar on a terminal, or nothing."""
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
        TextColumn("so far,"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("Preparing", total=None)
        last = ""

        def show(progress: Progress) -> None:
            nonlocal last
            if progress.title != last:  # another part of the run has its own time left
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
    """The text before the bar."""
    tokens = f"{progress.tokens:,} tokens" if progress.tokens else ""
    return ", ".join(part for part in (progress.title, tokens, progress.note) if part)


Item = TypeVar("Item")
IDENTITY = "run.json"


def partial_folder(output: Path) -> Path:
    """The folder of a run's checkpoint until its output is written."""
    return output.with_name(output.name + ".partial")


@contextlib.contextmanager
def only_writer(output: Path, *, folder: bool = False) -> Generator[None]:
    """Lock the output for this run; another run with that output raises an error at once."""
    if output.is_dir() and not folder:
        raise BadInput(f"{output} is a folder; give the name of a file to write.")
    if not output.parent.is_dir():
        raise BadInput(f"The folder {output.parent} does not exist; create it or choose another.")
    if output.exists() and not output.is_dir() and not output.is_file():
        raise BadInput(f"{output} is not an ordinary file; give the name of a file to write.")
    path = output.with_name(f".{output.name}.lock")
    lock = FileLock(path, blocking=False)
    try:
        lock.acquire()
    except Timeout:
        raise HeadscopeError(
            f"Another run is writing {output}; wait for it to end, or choose another output."
        ) from None
    except OSError as error:
        raise HeadscopeError(
            f"{path.parent} cannot be written to ({error.strerror}); choose another folder."
        ) from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is held: a file that nobody holds is no lock
        lock.release()


class Run:
    """Use it as `with Run(output, identity, title=…) as run:`.

    Its checkpoint is in `<output>.partial` until the output is written."""

    def __init__(
        self,
        output: str | Path | None,
        identity: Mapping[str, object],
        *,
        title: str = "",
        restart: bool = False,
        progress: bool | ProgressCallback = True,
        makes_folder: bool = False,  # the output is a folder, such as a model
    ) -> None:
        self.output = None if output is None else Path(output).absolute()
        self.title = title
        self._identity = {name: describe(value) for name, value in identity.items()}
        self._identity["version of headscope"] = __version__
        self._restart, self._progress, self._makes_folder = restart, progress, makes_folder
        self._folder = None if self.output is None else partial_folder(self.output)
        self._parts: list[RunPart] = []
        self._resumed = False  # whether an earlier run left a checkpoint
        self._held = contextlib.ExitStack()
        self._show: ProgressCallback = lambda progress: None

    # opening and closing

    def __enter__(self) -> Run:
        try:
            with uninterrupted():  # a leaked lock would block the next run
                if self.output is not None and self._folder is not None:
                    writer = only_writer(self.output, folder=self._makes_folder)
                    self._held.enter_context(writer)
                    sweep(self.output)
                    self._take_up(self._folder)
                self._held.enter_context(remembered())
                self._show = self._held.enter_context(showing(self._progress))
        except BaseException:
            self._held.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        stopped = isinstance(error, KeyboardInterrupt) or (error is not None and was_asked())
        with self._held, uninterrupted():
            if error is None:
                self._forget()
                return
            with contextlib.suppress(HeadscopeError):  # the disk is full; the earlier state stays
                for part in self._parts:
                    part.keep()
            kept = self._is_kept()
            # a refused run's checkpoint is useless: other input is another run
            if not kept or (isinstance(error, BadInput) and not self._resumed):
                self._forget()
        if stopped:
            stop = Stopped(self._how_to_go_on(kept))
            stop.partial = getattr(error, "partial", None)
            raise stop from None

    def _take_up(self, folder: Path) -> None:
        """Check the checkpoint's identity: another run's raises, an incomplete one is removed."""
        if self._restart:
            self._forget()
        if not folder.exists():
            return
        if not folder.is_dir():
            raise BadInput(
                f"{folder} was written by another version of headscope or another program; {_ANEW}."
            )
        if not (folder / IDENTITY).exists():  # killed before it wrote its identity, so it is empty
            self._forget()
            return
        for path in folder.iterdir():
            if path.name.startswith("."):  # a write that was killed
                path.unlink(missing_ok=True)
        try:
            kept: Any = json.loads((folder / IDENTITY).read_text(encoding="utf-8"))
            now: Any = json.loads(json.dumps(self._identity))
            other = differences(kept, now)
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise BadInput(f"{folder} cannot be read ({error}); {_ANEW}.") from error
        if other:
            raise BadInput(
                f"{folder} was started with {_other(other)}; resume with the same"
                f"{_changed(kept, now)}, {_ANEW}."
            )
        self._resumed = True

    def _forget(self) -> None:
        if self._folder is not None and self._folder.is_dir():
            shutil.rmtree(self._folder, ignore_errors=True)
        elif self._folder is not None:
            self._folder.unlink(missing_ok=True)

    def _is_kept(self) -> bool:
        folder = self._folder
        return (
            folder is not None
            and folder.is_dir()
            and any(_holds(path) for path in folder.iterdir() if path.name != IDENTITY)
        )

    def _how_to_go_on(self, kept: bool) -> str:
        if self._folder is None:
            return "Stopped; without an output nothing is kept."
        if kept:
            return (
                f"Stopped; what was done is kept in {self._folder.name}. Run the same command "
                "to resume."
            )
        return "Stopped before there was anything to keep; the same command starts again."

    # the checkpoint

    def part(self, name: str) -> RunPart:
        """A part of the run with a state of its own."""
        part = RunPart(name, self.place, self._folder)
        self._parts.append(part)
        return part

    def place(self, name: str) -> Path | None:
        """A file in the checkpoint, such as the output of a run inside it; None without an output.

        It is removed with the checkpoint once this run's output is written.
        """
        folder = self._folder
        if folder is None:
            return None
        if not (folder / IDENTITY).exists():
            try:
                folder.mkdir(exist_ok=True)
            except OSError as error:
                raise HeadscopeError(
                    f"{folder} cannot be made ({error.strerror}); choose another output."
                ) from error
            with atomic_path(folder / IDENTITY) as temporary:
                temporary.write_text(json.dumps(self._identity, indent=1), encoding="utf-8")
        return folder / name

    def table(self, name: str, compute: Callable[[], pd.DataFrame]) -> pd.DataFrame:
        """A table that is computed once: read back if an earlier run finished it."""
        import pandas as pd

        path = None if self._folder is None else self._folder / f"{name}.parquet"
        if path is not None and path.exists():
            return pd.read_parquet(path)
        frame = compute()
        path = self.place(f"{name}.parquet")
        if path is not None:
            with atomic_path(path) as temporary:
                frame.to_parquet(temporary)
        return frame

    # progress

    def show(self, progress: Progress) -> None:
        """Show progress of a run inside this one: pass `progress=run.show`."""
        title = f"{self.title} (resumed)" if self._resumed else self.title
        self._show(progress if progress.title else dataclasses.replace(progress, title=title))

    def tell(
        self,
        done: int,
        total: int | None = None,
        *,
        title: str = "",
        segments: int = 0,
        tokens: int = 0,
        note: str = "",
    ) -> None:
        """Report progress; raises here if an earlier Ctrl-C was lost."""
        if was_asked() and not pending():
            raise KeyboardInterrupt
        self.show(Progress(done, total, segments, tokens, title, note))

    def track(
        self, items: Iterable[Item], title: str = "", total: int | None = None
    ) -> Iterator[Item]:
        """The items, counted as they are done."""
        if total is None and hasattr(items, "__len__"):
            total = len(items)  # pyright: ignore
        done = 0
        self.tell(done, total, title=title)
        for item in items:
            yield item
            done += 1
            self.tell(done, total, title=title)


_ANEW = "start again with --restart (restart=True), or choose another output"


_SEVERAL = ("edits", "settings", "statistics")


def _other(names: list[str]) -> str:
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{'other' if names[0] in _SEVERAL else 'another'} {listed}"


def _changed(kept: Any, now: Any) -> str:
    """The settings and statistics that differ, in brackets, without long ones."""
    parts = ({name: each.get(name) for name in ("settings", "statistics")} for each in (kept, now))
    said = [one for one in _differing(*parts) if len(one) <= 80]
    return f" ({'; '.join(said[:4])})" if said else ""


def _differing(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    for name in differences(old, new):
        was, now = old.get(name), new.get(name)
        if isinstance(was, dict) and isinstance(now, dict):
            yield from _differing(cast("dict[str, Any]", was), cast("dict[str, Any]", now))
        elif isinstance(was, list) and isinstance(now, list):
            here, there = cast("list[Any]", was), cast("list[Any]", now)
            for word, one, other in (("with", here, there), ("without", there, here)):
                names = [str(each) for each in one if each not in other]
                more = f" and {len(names) - 3} more" if len(names) > 3 else ""
                if names:
                    yield f"{word} {', '.join(names[:3])}{more}"
        elif name in old and name in new:
            yield f"{name} {was}, not {now}"


def _holds(path: Path) -> bool:
    """Whether it contains anything: a run inside may have stopped before its first save."""
    return path.is_file() or any(_holds(one) for one in path.iterdir())
