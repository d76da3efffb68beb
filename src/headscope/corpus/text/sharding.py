"""From a corpus to its shards, in an order that is the same on every machine."""

from __future__ import annotations

import dataclasses
import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from headscope.corpus.open_text import (
    SNIFFED,
    files_at,
    is_compressed,
    is_uri,
    opened,
    without_compression,
)
from headscope.corpus.sources import files_in, is_archive
from headscope.corpus.text import wikitext
from headscope.corpus.text.documents import (
    DELIMITERS,
    LINES_OF_JSON,
    Layout,
    Reader,
    Shard,
    endings,
    is_treebank,
)
from headscope.errors import BadInput

DOCUMENTS = 2_048  # documents of a list in one shard
CHARACTERS = 2 * 2**20  # their total, about


def shards_of(corpus: Any, reader: Reader, part: int | None = None) -> list[Shard] | None:
    """The shards of a corpus; None if it is one piece or cannot be split.

    `part` is the approximate bytes of a part of a file; the default depends on its size.
    """
    if isinstance(corpus, (list, tuple)):
        found = list(_of_list(corpus))  # pyright: ignore[reportUnknownArgumentType]
    elif is_uri(corpus):
        found = [
            shard
            for file in files_at(corpus, endings())
            for shard in _of_file(Shard(0, file.uri, file.name, size=file.size), reader, part)
        ]
        return [dataclasses.replace(one, number=n) for n, one in enumerate(found)]
    elif isinstance(corpus, (str, Path)) and str(corpus) != "-":
        path = Path(corpus)
        if not path.exists() or is_archive(path):
            return None
        found = [shard for file in _files(path) for shard in _of_file(file, reader, part)]
    else:
        return None
    numbered = [dataclasses.replace(one, number=n) for n, one in enumerate(found)]
    return numbered if len(numbered) > 1 else None


def _files(path: Path) -> Iterator[Shard]:
    for file in files_in(path, endings()) if path.is_dir() else [path]:
        name = str(file.relative_to(path)) if path.is_dir() else file.name
        size = file.stat().st_size if file.is_file() else 0
        yield Shard(0, str(file.resolve()), name, size=size)


def _of_list(corpus: Sequence[Any]) -> Iterator[Shard]:
    """Groups of documents with about as much text as other shards."""
    some = corpus[:: max(1, len(corpus) // 64)]
    mean = sum(_length(one) for one in some) / max(1, len(some))
    count = max(1, min(DOCUMENTS, int(CHARACTERS / max(1.0, mean))))
    for start in range(0, len(corpus), count):
        items = corpus[start : start + count]
        # faults name a document by its index in the whole list
        yield Shard(0, "", f"document {start + 1}", size=len(items), items=items)


def _length(item: Any) -> int:
    if isinstance(item, str):
        return len(item)
    if isinstance(item, Mapping):
        item = list(item.values())  # pyright: ignore
    if isinstance(item, (list, tuple)):
        return sum(len(one) for one in item if isinstance(one, str))  # pyright: ignore
    return len(getattr(item, "text", ""))


def _of_file(file: Shard, reader: Reader, part: int | None) -> Iterator[Shard]:
    part = part_of(file.size) if part is None else part
    plain = without_compression(file.name).lower()
    if plain.endswith(".parquet"):
        yield from _groups(file)
        return
    whole = is_treebank(plain) or plain.endswith(tuple(DELIMITERS)) or is_compressed(file.name)
    if whole or file.size < 2 * part:
        yield file
        return
    layout = "lines" if plain.endswith(LINES_OF_JSON) else reader.layout_of(file.path)
    with opened(file.path) as data:
        buffered = data if isinstance(data, io.BufferedReader) else io.BufferedReader(data, SNIFFED)
        spans = ranges(buffered, file.size, layout, part)
    for start, end in spans:
        name = f"{file.name} from byte {start:,}" if start else file.name
        yield dataclasses.replace(file, name=name, span=(start, end), layout=layout)


def _groups(file: Shard) -> Iterator[Shard]:
    import pyarrow
    import pyarrow.parquet

    try:
        with opened(file.path) as data:
            count = pyarrow.parquet.ParquetFile(data).metadata.num_row_groups
    except (pyarrow.ArrowException, OSError) as error:
        raise BadInput(f"{file.path} is not a readable Parquet file ({error}).") from error
    numbers = range(count) if count > 1 else itertools.repeat(None, 1)
    yield from (dataclasses.replace(file, group=group) for group in numbers)


LEAST, MOST = 2**20, 2**26  # bytes of a part
PARTS = 2_048  # about so many per file


def part_of(size: int) -> int:
    """Approximate bytes of a part of a file; a file smaller than two parts stays whole."""
    return min(MOST, max(LEAST, size // PARTS))


def ranges(data: Any, size: int, layout: Layout, part: int) -> list[tuple[int, int]]:
    """(start, end) of each part of an open file; a single one if it cannot be divided."""
    if layout == "file" or size < 2 * part:
        return [(0, size)]
    bounds = [0]
    for wanted in range(part, size, part):
        if wanted <= bounds[-1]:
            continue  # a document longer than a part
        found = _document_after(data, wanted, min(wanted + part, size), layout)
        if found is not None and bounds[-1] < found < size:
            bounds.append(found)
    return list(zip(bounds, [*bounds[1:], size], strict=True))


def _document_after(data: Any, place: int, end: int, layout: Layout) -> int | None:
    """Where the first document begins at or after a position, if one does before `end`."""
    for start, line in _lines_after(data, place, end):
        if layout == "lines":
            return start
        if layout == "wikitext" and wikitext.is_title(line.decode("utf-8", "replace")):
            return start
        if layout == "paragraphs" and not line.strip():
            return start + len(line)
    return None


def _lines_after(data: Any, place: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Lines that begin at or after a position, each with its start."""
    data.seek(place - 1)
    start = place - 1 + len(data.readline())  # the rest of a line that began before
    while start < end:
        line = data.readline()
        if not line.endswith(b"\n"):
            return
        yield start, line
        start += len(line)
