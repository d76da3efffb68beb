"""Text files opened safely: text that is not UTF-8 raises an error and is never garbled.

Single bad bytes in a UTF-8 file become lone surrogates; readers leave out and count lines that
contain them (see `bad_data.unreadable`).

Files may be compressed, and in an object store or another file system, with Ray's spelling of URIs:
`s3://bucket/folder`, `gs://…`, `hdfs://…` and `file:///…` are opened by Arrow, everything else
(`memory://`, `https://…`, `abfs://…`) by fsspec and the package it needs.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import re
import select
import stat
import sys
import tarfile
import time
import zlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import quote

from headscope.errors import BadInput

COMPRESSED = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}


def without_compression(name: str) -> str:
    stem, dot, last = name.rpartition(".")
    return stem if (dot + last).lower() in COMPRESSED else name


_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


@dataclass(frozen=True)
class StoredFile:
    uri: str
    name: str  # below the folder that was named
    size: int


def is_uri(given: object) -> bool:
    return isinstance(given, str) and _URI.match(given) is not None


def files_at(uri: str, endings: tuple[str, ...]) -> list[StoredFile]:
    """The file of that name, or the files of a folder with one of the endings, by name."""
    from pyarrow import fs

    store, root, quoted = _opened(uri)
    try:
        (info,) = store.get_file_info([root])
        if info.type == fs.FileType.File:
            return [StoredFile(uri, PurePosixPath(root).name, int(info.size))]
        if info.type == fs.FileType.NotFound:
            raise BadInput(f"There is no file or folder {uri!r}; check the path.")
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
    """A file of bytes that can be read from any position."""
    store, path, _ = _opened(uri)
    try:
        return store.open_input_file(path)
    except OSError as error:
        raise BadInput(f"{uri} cannot be read ({_first_line(error)}).") from error


def name_of(uri: str) -> str:
    """The last part of the name; its ending tells the format."""
    return PurePosixPath(uri.partition("?")[0]).name


def _opened(uri: str) -> tuple[Any, str, bool]:
    """The file system, the path in it, and whether its URIs quote names."""
    import pyarrow
    from pyarrow import fs

    try:
        return *fs.FileSystem.from_uri(uri), True
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError):
        pass  # Arrow does not know this kind of URI
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


DAMAGED = (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile, tarfile.TarError)
SNIFFED = 1 << 16  # bytes inspected before a file is read as text
PATIENCE = 3.0  # seconds to wait for a pipe's writer
STRAY = 0.05  # a file with a larger share of lines with bad bytes is not UTF-8

_MARKS = {
    b"PK\x03\x04": "a ZIP archive, as Word and Excel files are",
    b"%PDF": "a PDF file",
    b"PAR1": "a Parquet file without that ending",
    b"\x1f\x8b": "compressed with gzip, which its name does not say",
    b"\xfd7zXZ": "compressed with xz, which its name does not say",
    b"BZh9": "compressed with bzip2, which its name does not say",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    b"\xff\xfe\x00\x00": "UTF-32 text",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
    b"\xd0\xcf\x11\xe0": "an old Office file",
    b"{\\rtf": "an RTF file",
}


class Lines(Iterator[str]):
    """The lines of an open text; a read error becomes one that names the file."""

    def __init__(self, name: str, text: IO[str]) -> None:
        self.name, self._text = name, text

    def __next__(self) -> str:
        with said(self.name):
            return next(self._text)

    def read(self) -> str:
        """The rest of the text."""
        with said(self.name):
            return self._text.read()


@contextlib.contextmanager
def said(name: str | Path) -> Generator[None]:
    """While a file is read: errors become one sentence that names it."""
    try:
        yield
    except DAMAGED as error:
        raise BadInput(
            f"{name} is damaged or incomplete ({str(error) or type(error).__name__}); download "
            f"or copy it again."
        ) from error
    except OSError as error:
        if error.strerror is None:  # bz2's error for data that is not bz2
            raise BadInput(f"{name} is damaged ({error}); download or copy it again.") from error
        raise BadInput(f"{name} cannot be read ({error.strerror}).") from error


@contextlib.contextmanager
def open_lines(path: Path | str, newline: str | None = None) -> Generator[Lines]:
    """The lines of a file, decompressed if its name says so."""
    name = _name(path)
    with contextlib.ExitStack() as stack:
        with said(path):
            data: Any = stack.enter_context(opened(path))
            opener = COMPRESSED.get(PurePosixPath(name).suffix.lower())
            if opener is not None:
                data = stack.enter_context(opener(data, "rb"))
            lines = as_text(name, data, newline)
        yield lines


def filled_lines(path: Path | str) -> list[str]:
    """The lines of a small file that hold more than blanks."""
    with open_lines(path) as lines:
        return [line for line in lines if line.strip()]


@contextlib.contextmanager
def open_part(path: Path | str, name: str, start: int, end: int) -> Generator[Lines]:
    """The lines between two positions of an uncompressed file."""
    with said(path), opened(path) as data:
        data.seek(start)
        part = data.read(end - start)
    yield as_text(name, io.BytesIO(part))


def opened(path: Path | str, patience: float = PATIENCE) -> Any:
    """The bytes of a local file or a URI; a context manager."""
    return open_at(str(path)) if is_uri(str(path)) else _open(Path(path), patience)


def is_compressed(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in COMPRESSED


def _name(path: Path | str) -> str:
    return name_of(str(path)) if is_uri(str(path)) else Path(path).name


def standard_input() -> Lines:
    """Standard input, read like any file."""
    data: Any = getattr(sys.stdin, "buffer", None)
    return as_text("standard input", data) if data is not None else Lines("it", sys.stdin)


def as_text(name: str, data: IO[bytes], newline: str | None = None) -> Lines:
    """Bytes as lines of text, after a check that the first ones are text."""
    with said(name):
        held: Any = data if hasattr(data, "peek") else io.BufferedReader(data, SNIFFED)  # pyright: ignore
        start = _peek(held)
        check_text(name, start)
        wrapped = io.TextIOWrapper(
            held, encoding="utf-8-sig", errors="surrogateescape", newline=newline
        )
    return Lines(name, wrapped)


def check_text(name: str | Path, start: bytes) -> None:
    """Raise an error for bytes that do not begin like UTF-8 text."""
    for mark, what in _MARKS.items():
        if start.startswith(mark):
            raise BadInput(f"{name} is {what}; save it as plain UTF-8 text.")
    if b"\x00" in start:
        even, odd = start[::2].count(0), start[1::2].count(0)
        likely = max(even, odd) > len(start) // 8
        what = "UTF-16 text" if likely and min(even, odd) == 0 else "not text but binary data"
        raise BadInput(f"{name} is {what}; save it as plain UTF-8 text.")
    text = start.decode("utf-8", "surrogateescape")
    lines = [line for line in text.split("\n") if line.strip()]
    # if more bytes follow, the last character may be cut
    foreign = sum(_foreign(line) for line in (lines[:-1] if len(start) >= SNIFFED else lines))
    if foreign and foreign > STRAY * len(lines) and not _mostly_utf8(text):
        where = next(n for n, c in enumerate(text) if _foreign(c))
        raise BadInput(
            f"{name} is not UTF-8 text (character {where + 1} is the first that is not); save it "
            "as UTF-8, such as by `iconv -f LATIN1 -t UTF-8`."
        )


def _foreign(text: str) -> bool:
    return any("\udc80" <= character <= "\udcff" for character in text)


def _mostly_utf8(text: str) -> bool:
    """Whether valid non-ASCII characters outnumber bad bytes."""
    beyond = sum(character > "\x7f" for character in text)
    foreign = sum("\udc80" <= character <= "\udcff" for character in text)
    return beyond - foreign > foreign


def _peek(data: Any) -> bytes:
    """The first bytes, without consuming them."""
    start: bytes = data.peek(SNIFFED)
    return start[:SNIFFED]


def _open(path: Path, patience: float) -> Any:
    """A file, or a pipe with a writer; devices have no end and are refused."""
    kind = path.stat().st_mode
    if stat.S_ISREG(kind) or str(path) == os.devnull:
        return path.open("rb", SNIFFED)
    if not stat.S_ISFIFO(kind):
        raise BadInput(f"{path} is a device or a socket, not a file; give a file.")
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a plain open would wait for ever
    deadline = time.monotonic() + patience
    while not _has_writer(handle):
        if time.monotonic() > deadline:
            os.close(handle)
            raise BadInput(
                f"No process writes to the pipe {path}; give a file, or - for standard input."
            )
        time.sleep(0.05)
    os.set_blocking(handle, True)
    return os.fdopen(handle, "rb", SNIFFED)


def _has_writer(handle: int) -> bool:
    """Whether a pipe has something to read, or a writer."""
    ready = select.poll()
    ready.register(handle, select.POLLIN)
    if ready.poll(0):
        return True
    try:
        os.read(handle, 1)  # the pipe is empty, so nothing is lost
    except BlockingIOError:
        return True
    return False
