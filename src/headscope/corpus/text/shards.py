"""Shards: a corpus of several files, or of Parquet row groups, in pieces that can be read apart."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headscope.corpus.sources import files_in, is_archive, without_compression
from headscope.errors import BadInput

SPAN = 2**40  # numbers of documents and segments a shard has for itself


@dataclass(frozen=True)
class Shard:
    """A file, or a row group of one; its place decides the numbers of what is in it."""

    number: int
    path: str
    name: str  # as faults call it
    group: int | None = None

    @property
    def first(self) -> int:
        """The number of its first document and of its first segment."""
        return self.number * SPAN


def shards_of(corpus: Any, endings: tuple[str, ...]) -> list[Shard] | None:
    """The shards of a path, in a fixed order; None where there is one piece, or no path at all."""
    if not isinstance(corpus, (str, Path)) or str(corpus) == "-":
        return None
    path = Path(corpus)
    if not path.exists() or is_archive(path):
        return None
    files = files_in(path, endings) if path.is_dir() else [path]
    found: list[Shard] = []
    for file in files:
        name = str(file.relative_to(path)) if path.is_dir() else file.name
        for group in _groups(file):
            found.append(Shard(len(found), str(file.resolve()), name, group))
    return found if len(found) > 1 else None


def _groups(file: Path) -> list[int] | list[None]:
    if not without_compression(file.name).lower().endswith(".parquet"):
        return [None]
    import pyarrow
    import pyarrow.parquet

    try:
        count = pyarrow.parquet.ParquetFile(file).metadata.num_row_groups
    except (pyarrow.ArrowException, OSError) as error:
        raise BadInput(f"{file} is no Parquet file that can be read ({error}).") from error
    return list(range(count)) if count > 1 else [None]
