"""A queue per model: requests run one at a time in order of arrival, and can be cancelled.

A page makes a ticket for each request. With the ticket it asks how many requests come first and how
much of its own work is done, and cancels the request. A request whose page has gone is cancelled
the same way: the server sets the event in `ABANDONED`.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import monotonic

import msgspec

from headscope.reading.collecting.collector import interruptible

ABANDONED: ContextVar[threading.Event | None] = ContextVar("ABANDONED", default=None)
GLANCE = 0.2  # seconds between checks whether the client still waits
# Where each stage of a long reading begins, and its share of the time. Measured on one thread:
# 0.14, 0.12, 0.74 (bundled model, 500 tokens) and 0.31, 0.08, 0.61 (SmolLM2, 799 tokens).
STAGES = {
    "pass": (0.0, 0.2),
    "measures": (0.2, 0.1),
    "labels": (0.3, 0.7),
    "trial": (0.0, 0.0),
    "atlas": (0.0, 1.0),
}
TOO_EARLY = 0.05  # least share of the work for an estimate of the time left


@dataclass(eq=False)
class _Turn:
    ticket: str | None
    thread: int = field(default_factory=threading.get_ident)
    cancelled: threading.Event = field(default_factory=lambda: ABANDONED.get() or threading.Event())
    done: float = 0.0
    begun: float | None = None  # when the first stage was reported: a model is opened before it

    def report(self, stage: str, done: float) -> None:
        self.begun = self.begun or monotonic()
        start, size = STAGES[stage]
        self.done = max(self.done, start + size * min(1.0, done))  # progress never goes back


class Queued(msgspec.Struct):
    """A request's position in the queue."""

    before: int | None = None
    """How many are served before it; None when it is done, or was never there."""
    done: float | None = None
    """The share of its own work that is done, once it is being served."""
    left: float | None = None
    """Seconds that the rest will take at this rate."""


class Turns:
    """The queue of one model; the running thread may enter again."""

    def __init__(self) -> None:
        self._waiting: list[_Turn] = []  # the first is running
        self._moved = threading.Condition()

    @contextlib.contextmanager
    def turn(self, ticket: str | None = None) -> Generator[None]:
        """Wait for all earlier requests; raises `Interrupted` if cancelled meanwhile."""
        mine = _Turn(ticket)
        with self._moved:
            mine_already = bool(self._waiting) and self._waiting[0].thread == mine.thread
            if not mine_already:
                self._waiting.append(mine)
        if mine_already:
            yield
            return
        try:
            with self._moved:
                while self._waiting[0] is not mine and not mine.cancelled.is_set():
                    self._moved.wait(GLANCE)
            with interruptible(mine.cancelled, mine.report):
                yield
        finally:
            with self._moved:
                self._waiting.remove(mine)
                self._moved.notify_all()

    def __len__(self) -> int:
        """How many requests run or wait."""
        with self._moved:
            return len(self._waiting)

    def queued(self, ticket: str) -> Queued | None:
        """A request's position; None if it is not in this queue."""
        with self._moved:
            turns = list(self._waiting)
        for before, turn in enumerate(turns):
            if turn.ticket == ticket:
                if before or turn.begun is None:
                    return Queued(before)
                done = turn.done
                spent = monotonic() - turn.begun
                return Queued(0, done, spent * (1 / done - 1) if done >= TOO_EARLY else None)
        return None

    def take_back(self, ticket: str) -> bool:
        with self._moved:
            for turn in self._waiting:
                if turn.ticket == ticket:
                    turn.cancelled.set()
                    self._moved.notify_all()
                    return True
        return False
