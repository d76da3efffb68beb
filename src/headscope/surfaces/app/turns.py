"""One model, one piece of work at a time: the first to come is served first, and may cancel.

A page gives each of its requests a ticket of its own making; with it the page asks how many are
before it, and cancels its request. A request whose page has gone is dropped the same way: the
server sets the event in `ABANDONED`.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator
from contextvars import ContextVar
from dataclasses import dataclass, field

from headscope.reading.collecting.collector import interruptible

ABANDONED: ContextVar[threading.Event | None] = ContextVar("ABANDONED", default=None)
GLANCE = 0.2  # seconds between looks at whether anybody still waits


@dataclass(eq=False)
class _Turn:
    ticket: str | None
    thread: int = field(default_factory=threading.get_ident)
    cancelled: threading.Event = field(default_factory=lambda: ABANDONED.get() or threading.Event())


class Turns:
    """The queue before one model; the thread that is served may enter again."""

    def __init__(self) -> None:
        self._waiting: list[_Turn] = []  # the first of them is being served
        self._moved = threading.Condition()

    @contextlib.contextmanager
    def turn(self, ticket: str | None = None) -> Generator[None]:
        """Wait for all that came before; `Interrupted` when the turn is cancelled meanwhile."""
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
            with interruptible(mine.cancelled):
                yield
        finally:
            with self._moved:
                self._waiting.remove(mine)
                self._moved.notify_all()

    def __len__(self) -> int:
        """How many are served or wait."""
        with self._moved:
            return len(self._waiting)

    def before(self, ticket: str) -> int | None:
        """How many are served before it; None when it is not in this queue."""
        with self._moved:
            tickets = [turn.ticket for turn in self._waiting]
        return tickets.index(ticket) if ticket in tickets else None

    def take_back(self, ticket: str) -> bool:
        with self._moved:
            for turn in self._waiting:
                if turn.ticket == ticket:
                    turn.cancelled.set()
                    self._moved.notify_all()
                    return True
        return False
