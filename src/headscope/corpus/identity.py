"""A corpus is identified by its content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from headscope.corpus.open_text import files_at, is_uri, opened, said
from headscope.corpus.sample import PARAGRAPHS, or_sample
from headscope.corpus.sources import there
from headscope.runs import Fingerprint, describe, fingerprint

BLOCK = 2**20  # bytes read at a time


def corpus_identity(corpus: Any) -> str | None:
    """The digest of a corpus that can be read more than once; None for every other.

    Files, folders and URIs are known by their names and bytes; data frames, series, arrays, data
    sets and lists by their items.
    """
    corpus = or_sample(corpus, PARAGRAPHS)
    if isinstance(corpus, (str, Path)):
        return None if reads_once(corpus) else _of_files(_files(corpus))
    if hasattr(corpus, "columns") and hasattr(corpus, "itertuples"):  # a data frame
        rows = corpus.itertuples(index=False, name=None)
        return fingerprint([[str(name) for name in corpus.columns], *rows])
    if not isinstance(corpus, Iterable) or reads_once(corpus):
        return None
    return fingerprint(corpus)  # pyright: ignore[reportUnknownArgumentType]


def reads_once(corpus: Any) -> bool:
    """Whether it can be read only once: standard input, a pipe, a generator."""
    if isinstance(corpus, (str, Path)):
        return str(corpus) == "-" or (not is_uri(corpus) and Path(corpus).is_fifo())
    return isinstance(corpus, Iterator)


def data_identity(value: Any) -> Any:
    """An argument's identity: a path's is its file's content, any other value's is its own."""
    if isinstance(value, Mapping):
        return {str(name): data_identity(one) for name, one in value.items()}  # pyright: ignore
    is_path = isinstance(value, (str, Path)) and (is_uri(value) or Path(value).exists())
    is_data = not isinstance(value, (str, Path)) and isinstance(value, Iterable)
    return corpus_identity(value) if is_path or is_data else describe(value)


def _files(corpus: str | Path) -> Iterator[tuple[str, str | Path]]:
    """The name and the address of every file."""
    if isinstance(corpus, str) and is_uri(corpus):
        yield from ((file.name, file.uri) for file in files_at(corpus, ("",)))
        return
    path = there(corpus)
    every = sorted(path.rglob("*")) if path.is_dir() else [path]
    yield from ((one.relative_to(path).as_posix(), one) for one in every if one.is_file())


def _of_files(files: Iterable[tuple[str, str | Path]]) -> str:
    found = Fingerprint()
    for name, address in files:
        content = hashlib.sha256()
        with said(name), opened(address) as file:
            while block := file.read(BLOCK):
                content.update(block)
        found.add(name, content.digest())
    return found.value
