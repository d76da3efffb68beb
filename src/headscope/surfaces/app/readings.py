"""Readings kept for the people who look at them: by an id nobody can guess, oldest out first."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headscope.capture import Kind
from headscope.errors import HeadscopeError
from headscope.reading import Reading, Scope
from headscope.reading.memory import available

if TYPE_CHECKING:
    import pandas as pd

OffHead = tuple[Kind, int, int]  # with its layer and head


class ReadingGoneError(HeadscopeError):
    """The id is unknown, or its reading was let go."""


@dataclass(frozen=True)
class KeptReading:
    model: str
    scope: Scope  # with the heads that were switched off
    text: str
    text_pair: str | None
    reading: Reading
    off: tuple[OffHead, ...]
    scores: pd.DataFrame | None  # every head on every pattern, where they were measured

    @property
    def has_media(self) -> bool:
        return bool(self.reading.pictures) or self.reading.sound is not None

    @property
    def size(self) -> int:
        seen = sum(picture.pixels.nbytes for picture in self.reading.pictures)
        return seen + sum(part.nbytes for part in self.reading.parts.values())


class Readings:
    def __init__(self, most_bytes: int | None = None, most: int = 64) -> None:
        """most_bytes: a quarter of what is free unless told otherwise, and never under 2 GB."""
        self._kept: OrderedDict[str, KeptReading] = OrderedDict()
        self._lock = threading.Lock()
        self._most_bytes = most_bytes or max(2_000_000_000, available() // 4)
        self._most = most

    def keep(self, kept: KeptReading, name: str | None = None) -> str:
        name = name or secrets.token_urlsafe(18)
        with self._lock:
            self._kept[name] = kept
            while len(self._kept) > 1 and self._too_much():
                self._kept.popitem(last=False)
        return name

    def get(self, name: str) -> KeptReading:
        with self._lock:
            if name not in self._kept:
                raise ReadingGoneError("This reading is no longer kept; read the text again.")
            self._kept.move_to_end(name)
            return self._kept[name]

    def let_go(self, name: str) -> None:
        with self._lock:
            self._kept.pop(name, None)

    def replace(self, name: str, kept: KeptReading) -> None:
        """The same reading, of which more is known by now."""
        with self._lock:
            if name in self._kept:
                self._kept[name] = kept

    def _too_much(self) -> bool:
        total = sum(kept.size for kept in self._kept.values())
        return len(self._kept) > self._most or total > self._most_bytes
