"""A checksum inside a file, of all its other bytes: damage is refused, not read as other numbers.

A writer puts `BLANK` into the file's own metadata, and `seal` replaces it by the SHA-256 of the
file as it then is. Parquet and safetensors keep metadata as plain text, so both stay ordinary
files of their kind.
"""

from __future__ import annotations

import hashlib
import mmap
import re
from collections.abc import Generator
from pathlib import Path

from headscope.errors import BadInput

NAME = "checksum"  # the metadata's key
_MARK = "headscope-sha256:"
BLANK = _MARK + "0" * 64
_SEALED = re.compile(_MARK.encode() + rb"([0-9a-f]{64})")
_AT_ONCE = 1 << 24  # bytes


def seal(path: Path) -> None:
    """Put the checksum in place of the blank one."""
    with path.open("r+b") as file:
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
            found = next(_SEALED.finditer(held))
            digest = _digest(held, found.start(1))
        file.seek(found.start(1))
        file.write(digest.encode())


def check_seal(path: Path) -> None:
    """Refuse a file whose bytes are not those that were written."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
        # a copy of the metadata may hold the blank one again; the sealed one is what counts
        for found in _SEALED.finditer(held):
            if found[1] == _digest(held, found.start(1)).encode():
                return
    raise BadInput(f"{path} is damaged: its checksum does not fit; save it again, or copy it anew.")


def _digest(held: mmap.mmap, start: int) -> str:
    digest = hashlib.sha256()
    for part in _parts(held, start):
        digest.update(part)
    return digest.hexdigest()


def _parts(held: mmap.mmap, start: int) -> Generator[bytes]:
    """The file's bytes, the checksum among them blank."""
    for first, last in ((0, start), (start + 64, len(held))):
        for begin in range(first, last, _AT_ONCE):
            yield held[begin : min(begin + _AT_ONCE, last)]
        if last == start:
            yield b"0" * 64
