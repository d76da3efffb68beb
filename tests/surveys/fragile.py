"""A worker for test_feeds, in a file that needs no torch: its processes start at once."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from headscope.errors import BadInput


class Fragile:
    """A worker that dies at a number until its marker is there, or whenever there is none."""

    def __init__(self, marker: str) -> None:
        self._marker = marker

    def squares(self, first: int, end: int) -> tuple[tuple[int, int, int], tuple[int, int] | None]:
        if first == 2 and not (self._marker and Path(self._marker).exists()):
            if self._marker:
                Path(self._marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        following = None if first + 1 == end else (first + 1, end)
        return (os.getpid(), first, first**2), following

    def refuses(self) -> None:
        raise BadInput("This worker refuses; ask another.")
