"""Open data from a file, a compressed file, a folder or a tar archive."""

from __future__ import annotations

import contextlib
import tarfile
from collections.abc import Iterator
from pathlib import Path

from headscope.corpus.open_text import Lines, as_text, open_lines, said, without_compression
from headscope.errors import BadInput


def texts(path: str | Path, endings: tuple[str, ...]) -> Iterator[tuple[str, Lines]]:
    """Yield (name, lines) of every file with one of the endings, in order of name."""
    path = there(path)
    if path.is_dir():
        yield from _folder(path, endings)
    elif is_archive(path):
        yield from _archive(path, endings)
    else:
        with open_lines(path) as lines:
            yield path.name, lines


def there(path: str | Path) -> Path:
    """The path, if it exists."""
    try:
        if str(path) and Path(path).exists():
            return Path(path)
    except (OSError, ValueError) as error:  # too long, or contains a zero byte
        raise BadInput(f"{str(path)[:80]!r} cannot be the name of a file ({error}).") from error
    raise BadInput(f"There is no file or folder {str(path)!r}; check the path.")


def files_in(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    """The files of a folder, compressed or not, that have one of the endings, by name."""
    with said(folder):
        found = sorted(
            path
            for path in folder.rglob("*")
            if path.is_file() and without_compression(path.name).lower().endswith(endings)
        )
    if not found:
        raise BadInput(f"{folder} holds no file that ends in {' or '.join(endings)}.")
    return found


def is_archive(path: Path) -> bool:
    return ".tar" in path.suffixes or path.suffix == ".tgz"


def _folder(path: Path, endings: tuple[str, ...]) -> Iterator[tuple[str, Lines]]:
    for file in files_in(path, endings):
        with open_lines(file) as lines:
            yield str(file.relative_to(path)), lines


def _archive(path: Path, endings: tuple[str, ...]) -> Iterator[tuple[str, Lines]]:
    found = 0
    with contextlib.ExitStack() as stack:
        with said(path):
            archive = stack.enter_context(tarfile.open(path))
        while True:  # streamed in the archive's own order, so nothing is unpacked
            with said(path):
                member = archive.next()
                if member is None:
                    break
                wanted = member.isfile() and member.name.lower().endswith(endings)
                data = archive.extractfile(member) if wanted else None
                lines = None if data is None else as_text(member.name, data)
            if lines is not None:
                found += 1
                yield member.name, lines
    if not found:
        raise BadInput(f"{path} holds no file that ends in {' or '.join(endings)}.")
