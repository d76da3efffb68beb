"""Readings and texts being written, by unguessable ids; the least recently used are dropped."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cachetools import LRUCache

from headscope.edits.live import Change
from headscope.edits.spelled import read
from headscope.errors import HeadscopeError
from headscope.reading import Reading, Scope
from headscope.reading.memory import available
from headscope.views.shared.labels import shown_labels

if TYPE_CHECKING:
    import pandas as pd

Item = TypeVar("Item")


class GoneError(HeadscopeError):
    """The id is unknown, or its object was dropped."""


@dataclass(frozen=True)
class KeptReading:
    model: str
    scope: Scope  # with its edits
    text: str
    text_pair: str | None
    reading: Reading
    off: tuple[Change, ...]
    scores: pd.DataFrame | None  # every head on every pattern, if measured
    corpus: pd.DataFrame | None = None  # the heads' labels over a corpus, if any

    @cached_property
    def labels(self) -> pd.DataFrame | None:
        """A row for each labelled head, here or over a corpus, that is not off."""
        found = shown_labels(self.scores, self.known)
        return found if found is None else self._without(found, lambda *head: head in self.off)

    @cached_property
    def known(self) -> pd.DataFrame | None:
        """The corpus's labels of the heads that no edit changes: it was read without edits."""
        edits = [read(change) for change in self.off if isinstance(change, str)]

        def is_changed(*head: Any) -> bool:
            return head in self.off or any(edit.changes(*head) for edit in edits)

        return None if self.corpus is None else self._without(self.corpus, is_changed)

    def _without(self, table: pd.DataFrame, unwanted: Callable[..., bool]) -> pd.DataFrame:
        if not self.off:
            return table
        rows = zip(table["kind"], table["layer"], table["head"], strict=True)
        return table.loc[[not unwanted(kind, int(at), int(head)) for kind, at, head in rows]]

    @property
    def has_media(self) -> bool:
        return bool(self.reading.pictures) or self.reading.sound is not None

    @property
    def why_no_predictions(self) -> str | None:
        """Predictions read the text again as it is typed, which a conversation is not."""
        if self.has_media:
            return "Predictions are shown for texts, not for pictures and sounds."
        if self.reading.spans:
            return (
                "Predictions are shown for plain texts; hs.ground explains an answer to documents."
            )
        return None

    @property
    def size(self) -> int:
        seen = sum(picture.pixels.nbytes for picture in self.reading.pictures)
        return seen + sum(part.nbytes for part in self.reading.parts.values())


class Kept(Generic[Item]):
    def __init__(self, cache: LRUCache[str, Item], gone: str) -> None:
        """gone: the error for an unknown id."""
        self._cache, self._gone = cache, gone
        self._lock = threading.Lock()

    def keep(self, item: Item, name: str | None = None) -> str:
        """Store under a new id, or replace the one with this id."""
        name = name or secrets.token_urlsafe(18)
        with self._lock:
            self._cache[name] = item
        return name

    def get(self, name: str) -> Item:
        with self._lock:
            if name not in self._cache:
                raise GoneError(self._gone)
            return self._cache[name]


def kept_readings(most: int = 64) -> Kept[KeptReading]:
    """Readings in a quarter of the memory that is free, but never under 2 GB."""
    room = max(2_000_000_000, available() // 4)

    def share(kept: KeptReading) -> int:
        """The share of the space: an oversized one stays alone, and `most` small ones fill it."""
        return min(room, max(kept.size, room // most))

    return Kept(LRUCache(room, share), "This reading is no longer kept; read the text again.")
