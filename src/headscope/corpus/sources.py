"""Open annotated data wherever it lies: a file, a compressed file, a folder or a tar archive."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from headscope.errors import BadInput

COMPRESSED = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}


def texts(path: str | Path, endings: tuple[str, ...]) -> Iterator[tuple[str, IO[str]]]:
    """Yield (name, open text) of every file with one of the endings, in order of name."""
    path = Path(path)
    if not path.exists():
        raise BadInput(f"There is no file or folder {path}.")
    if path.is_dir():
        yield from _folder(path, endings)
    elif _is_archive(path):
        yield from _archive(path, endings)
    else:
        with _open(path) as text:
            yield path.name, text


def _folder(path: Path, endings: tuple[str, ...]) -> Iterator[tuple[str, IO[str]]]:
    found = sorted(p for p in path.rglob("*") if p.is_file() and _plain(p.name).endswith(endings))
    if not found:
        raise BadInput(f"{path} holds no file that ends in {' or '.join(endings)}.")
    for file in found:
        with _open(file) as text:
            yield str(file.relative_to(path)), text


def _archive(path: Path, endings: tuple[str, ...]) -> Iterator[tuple[str, IO[str]]]:
    found = 0
    with tarfile.open(path) as archive:
        for member in archive:  # streamed in the archive's own order, so nothing is unpacked
            if not member.isfile() or not member.name.endswith(endings):
                continue
            data = archive.extractfile(member)
            if data is not None:
                found += 1
                yield member.name, io.TextIOWrapper(data, encoding="utf-8-sig", errors="replace")
    if not found:
        raise BadInput(f"{path} holds no file that ends in {' or '.join(endings)}.")


def _open(path: Path) -> IO[str]:
    opener = COMPRESSED.get(path.suffix, open)
    # a byte that is not UTF-8 becomes U+FFFD instead of ending a long run
    return cast(IO[str], opener(path, "rt", encoding="utf-8-sig", errors="replace"))


def _plain(name: str) -> str:
    stem, dot, last = name.rpartition(".")
    return stem if dot + last in COMPRESSED else name


def _is_archive(path: Path) -> bool:
    return ".tar" in path.suffixes or path.suffix == ".tgz"
