"""Annotated data for a probe: readable many times, identified by its content."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

from headscope.arguments import need_count, need_items
from headscope.corpus.bad_data import Choice, Faults
from headscope.corpus.treebanks.conllu import Sentence
from headscope.runs import Fingerprint

T = TypeVar("T")
Trees = str | Path | Iterable[Sentence]


def trees(given: Trees, bad_data: Choice) -> Iterable[Sentence]:
    """Sentences with trees: a treebank's, or spaCy's where the file is plain text."""
    if not isinstance(given, (str, Path)):
        return given
    if str(given).endswith(".txt"):
        from headscope.corpus.parsed_text import parsed_text

        return list(parsed_text(given, bad_data=bad_data))
    from headscope.corpus.treebanks.treebank import Treebank

    return Treebank(given, bad_data)


class Data(Generic[T]):
    """The first `limit` items of something that can be read more than once."""

    def __init__(self, items: Iterable[T], limit: int | None = None) -> None:
        need_count(limit, "limit")
        need_items(items, "annotated texts")
        # data that can be read only once is stored: annotated data is small
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
        """The digest of the items' content."""
        return self._counted[1]

    @cached_property
    def _counted(self) -> tuple[int, str]:
        digest, count = Fingerprint(), 0
        for item in self:
            digest.add(repr(item))
            count += 1
        return count, digest.value

    def faults_into(self, faults: Faults) -> None:
        """Add the data's own faults to those of a pass."""
        if isinstance(found := getattr(self._items, "faults", None), Faults):
            faults.add(found)
