"""Shards: a corpus in pieces that can be read apart; the same pieces wherever it is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Layout = Literal["auto", "lines", "paragraphs", "file", "wikitext"]
SPAN = 2**40  # numbers of documents and segments a shard has for itself


@dataclass(frozen=True)
class Shard:
    """A file, a row group or some bytes of one, or some documents of a list.

    Its place among the others decides the numbers of what is in it.
    """

    number: int
    path: str  # of a file of this machine, or a URI; empty for documents of a list
    name: str  # as faults call it
    group: int | None = None  # of a Parquet file
    span: tuple[int, int] | None = None  # bytes of a file, whole documents all of them
    layout: Layout | None = None  # of the whole file, where this is a part of it
    size: int = 0  # bytes of the file, or documents of a list
    items: Sequence[Any] | None = field(default=None, compare=False, repr=False)

    @property
    def first(self) -> int:
        """The number of its first document and of its first segment."""
        return self.number * SPAN
