"""Files that lie in an object store or behind another file system, named as Ray names them.

`s3://bucket/folder`, `gs://…`, `hdfs://…` and `file:///…` are opened by Arrow, everything else
(`memory://`, `https://…`, `abfs://…`) by fsspec, with whatever package it asks for there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from headscope.corpus.compression import without_compression
from headscope.errors import BadInput

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


@dataclass(frozen=True)
class StoredFile:
    uri: str
    name: str  # below the folder that was named
    size: int


def is_uri(given: object) -> bool:
    return isinstance(given, str) and _URI.match(given) is not None


def files_at(uri: str, endings: tuple[str, ...]) -> list[StoredFile]:
    """The file of that name, or all of a folder that have one of the endings, by name."""
    from pyarrow import fs

    store, root, quoted = _opened(uri)
    try:
        (info,) = store.get_file_info([root])
        if info.type == fs.FileType.File:
            return [StoredFile(uri, PurePosixPath(root).name, int(info.size))]
        if info.type == fs.FileType.NotFound:
            raise BadInput(f"There is no file or folder {uri!r}.")
        every = store.get_file_info(fs.FileSelector(root, recursive=True))
    except OSError as error:
        raise BadInput(f"{uri} cannot be read ({_first_line(error)}).") from error
    base, question, query = uri.partition("?")
    found: list[StoredFile] = []
    for one in every:
        name = one.path.removeprefix(root).strip("/")
        if one.type == fs.FileType.File and without_compression(name).lower().endswith(endings):
            place = f"{base.rstrip('/')}/{quote(name) if quoted else name}{question}{query}"
            found.append(StoredFile(place, name, int(one.size)))
    if not found:
        raise BadInput(f"{uri} holds no file that ends in {' or '.join(endings)}.")
    return sorted(found, key=lambda one: PurePosixPath(one.name))


def open_at(uri: str) -> Any:
    """A file of bytes that can be read from any place in it."""
    store, path, _ = _opened(uri)
    try:
        return store.open_input_file(path)
    except OSError as error:
        raise BadInput(f"{uri} cannot be read ({_first_line(error)}).") from error


def name_of(uri: str) -> str:
    """The last part of the name, which says by its ending what the file holds."""
    return PurePosixPath(uri.partition("?")[0]).name


def _opened(uri: str) -> tuple[Any, str, bool]:
    """The file system, the path in it, and whether names in URIs are quoted there."""
    import pyarrow
    from pyarrow import fs

    try:
        return *fs.FileSystem.from_uri(uri), True
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError):
        pass  # of a kind that Arrow does not know
    except OSError as error:
        raise BadInput(f"{uri} cannot be opened ({_first_line(error)}).") from error
    import fsspec

    try:
        store, path = fsspec.core.url_to_fs(uri)
    except (ImportError, ValueError, OSError) as error:
        raise BadInput(f"{uri} cannot be opened ({_first_line(error)}).") from error
    return fs.PyFileSystem(fs.FSSpecHandler(store)), path, False


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
