"""A probe that was stopped goes on where it was.

The data is read again up to that point, so faults in it are found again and not kept here.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from headscope.files import atomic_path

EVERY = 10.0  # seconds between writes


class Stateful(Protocol):
    """Anything that can be written down and taken up again."""

    def state(self) -> dict[str, Any]: ...
    def restore(self, state: dict[str, Any]) -> None: ...


class Checkpoint:
    """A small file beside the output, made anew when the settings differ."""

    def __init__(self, path: str | Path, settings: Mapping[str, object]) -> None:
        self.path = Path(path)
        described = json.dumps(dict(settings), sort_keys=True, default=str)
        self._key = hashlib.sha256(described.encode()).hexdigest()
        self._written = time.monotonic()

    def resume(self, tally: Stateful) -> int:
        """Restore the tally; return how many batches are done."""
        if not self.path.exists():
            return 0
        try:
            with np.load(self.path, allow_pickle=False) as kept:
                state = {name: kept[name] for name in kept.files}
        except (OSError, ValueError, EOFError):
            return 0  # a file that cannot be read is no reason not to start afresh
        about = json.loads(str(state.pop("about", "{}")))
        if about.get("key") != self._key:
            return 0
        tally.restore(state)
        return int(about["done"])

    def keep(self, tally: Stateful, done: int, *, now: bool = False) -> None:
        """Write the state down when the last time is long enough ago."""
        if not now and time.monotonic() - self._written < EVERY:
            return
        about = {"key": self._key, "done": done}
        with atomic_path(self.path) as path, path.open("wb") as file:
            np.savez(file, about=np.array(json.dumps(about)), **tally.state())
        self._written = time.monotonic()

    def finish(self) -> None:
        """The result is written; nothing is left to take up."""
        self.path.unlink(missing_ok=True)
