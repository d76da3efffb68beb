"""A part of a run: its state, saved from time to time and when the run is stopped."""

from __future__ import annotations

import contextlib
import json
import time
import zipfile
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.files import atomic_path
from headscope.interrupts import uninterrupted

KEEP_EVERY = 10.0  # most seconds of work that a killed run loses
SHARE = 20  # writing takes at most a twentieth of the time
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class State:
    """A part's progress, and its numbers so far."""

    position: dict[str, Any]  # small, as JSON
    arrays: Arrays = field(default_factory=dict[str, NDArray[Any]])


class RunPart:
    """Made by `Run.part`; its state is in a file that is replaced atomically."""

    def __init__(self, name: str, place: Callable[[str], Path | None], begun: Path | None) -> None:
        self._name = f"{name}.npz"
        self._place = place  # creates the run's folder when a state is saved
        self._begun = begun  # the run's folder, whether it exists or not
        self._latest: Callable[[], State] | None = None  # newer than the saved state
        self._due = time.monotonic() + KEEP_EVERY
        self.is_whole = True  # False if a step failed during its change

    def recall(self) -> State | None:
        """This part's state from an earlier run, or None."""
        if self._begun is None or not (path := self._begun / self._name).exists():
            return None
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            return State(json.loads(str(arrays.pop("position"))), arrays)
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise BadInput(
                f"{path} cannot be read ({error}); start again with --restart (restart=True)."
            ) from error

    @contextlib.contextmanager
    def step(self, state: Callable[[], State]) -> Generator[None]:
        """A change that is made completely or not at all; `state` returns the state after it.

        Ctrl-C waits for the end of the step. A step that fails leaves the earlier state.
        """
        with uninterrupted():
            self._latest, self.is_whole = None, False  # during a change no state can be saved
            yield
            self._latest, self.is_whole = state, True
            if time.monotonic() > self._due:
                self.keep()

    def put(self, state: State) -> None:
        """Save the state of a part that is done in one step."""
        with self.step(lambda: state):
            pass
        self.keep()

    def keep(self) -> None:
        """Save the latest state now; a stopped run does so automatically."""
        latest, self._latest = self._latest, None
        if latest is None:
            return
        begun = time.monotonic()
        path = self._place(self._name)
        if path is not None:
            state = latest()
            with atomic_path(path) as temporary, temporary.open("wb") as file:
                position = np.array(json.dumps(state.position))
                np.savez(file, position=position, **state.arrays)  # pyright: ignore
        now = time.monotonic()
        self._due = now + max(KEEP_EVERY, SHARE * (now - begun))
