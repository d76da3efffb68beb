"""A treebank: sentences with their trees, in any known format.

A format is a module of this folder with `ENDINGS` of file names and `sentences(name, lines,
faults)`, which yields the valid sentences of one open file. A new file adds a format. Plain text
is parsed (`corpus/parsed_text.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Protocol, cast

from headscope.corpus.bad_data import Choice, Faults
from headscope.corpus.open_text import without_compression
from headscope.corpus.sample import STORIES, or_sample
from headscope.corpus.sources import texts
from headscope.corpus.treebanks.conllu import Sentence
from headscope.discovery import by_name, modules

USUAL = ".conllu"  # the format of a file with an unknown ending


class Format(Protocol):
    ENDINGS: tuple[str, ...]

    def sentences(self, name: str, lines: Iterable[str], faults: Faults) -> Iterator[Sentence]: ...


@lru_cache
def formats() -> Mapping[str, Format]:
    """Every format by the endings of its files."""
    folder = __name__.rpartition(".")[0]
    found = (
        (ending, cast("Format", module))
        for module in modules(folder)
        for ending in getattr(module, "ENDINGS", ())
    )
    return by_name(found, "endings of treebanks")


class Treebank(Iterable[Sentence]):
    """The sentences of a file, folder or archive; read anew at every pass."""

    def __init__(
        self, path: str | Path, bad_data: Choice = "skip", limit: int | None = None
    ) -> None:
        self.path = Path(or_sample(path, STORIES))
        self.limit = limit
        self.faults = Faults(bad_data)

    def __iter__(self) -> Iterator[Sentence]:
        self.faults = Faults(self.faults.choice)  # a second pass must not count twice
        return islice(read_trees(self.path, self.faults), self.limit)


def read_trees(path: str | Path, faults: Faults) -> Iterator[Sentence]:
    """Yield the valid sentences of a file, folder or archive; count the others in `faults`."""
    for name, lines in texts(path, tuple(formats())):
        yield from format_of(name).sentences(name, lines, faults)


def format_of(name: str) -> Format:
    """The format of a file, by the ending of its name."""
    plain = without_compression(name).lower()
    ending = max((end for end in formats() if plain.endswith(end)), key=len, default=USUAL)
    return formats()[ending]
