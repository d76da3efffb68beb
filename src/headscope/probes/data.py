"""Annotated data as a probe reads it: as often as it is asked for, and known by its content."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Generic, TypeVar

from headscope.arguments import need_count, need_items
from headscope.corpus.bad_data import Faults
from headscope.runs import Fingerprint

T = TypeVar("T")


class Data(Generic[T]):
    """The first `limit` items of something that can be read more than once."""

    def __init__(self, items: Iterable[T], limit: int | None = None) -> None:
        need_count(limit, "limit")
        need_items(items, "annotated texts")
        # what can be read only once is kept: annotated data is small
        self._items: Iterable[T] = list(items) if iter(items) is items else items
        self._limit = limit

    def __iter__(self) -> Iterator[T]:
        return itertools.islice(iter(self._items), self._limit)

    def part(self, which: int, parts: int = 2) -> Iterator[T]:
        """Every second item: the even ones, or the odd ones."""
        return (item for number, item in enumerate(self) if number % parts == which)

    def __len__(self) -> int:
        return self._counted[0]

    @property
    def digest(self) -> str:
        """Of what the items say."""
        return self._counted[1]

    @cached_property
    def _counted(self) -> tuple[int, str]:
        digest, count = Fingerprint(), 0
        for item in self:
            digest.add(repr(item))
            count += 1
        return count, digest.value

    def faults_into(self, faults: Faults) -> None:
        """Add what was wrong with the data itself to what a pass found."""
        if isinstance(found := getattr(self._items, "faults", None), Faults):
            faults.add(found)
