"""Outputs are written completely or not at all, with a checksum.

The checksum covers all other bytes of the file, so a damaged file raises an error. A writer puts
`BLANK` into the file's own metadata, and `seal` replaces it by the SHA-256 of that file. Parquet,
safetensors and JSON store metadata as plain text, so all three remain ordinary files.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
import re
import secrets
import stat
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.errors import BadInput, HeadscopeError
from headscope.json_text import parse_json

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor


CHECKSUM = "checksum"  # the metadata's key
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
    """Raise an error if the file's bytes have changed."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
        # a copy of the metadata may hold the blank one again; the sealed one is what counts
        for found in _SEALED.finditer(held):
            if found[1] == _digest(held, found.start(1)).encode():
                return
    raise BadInput(f"{path} is damaged: its checksum does not fit; save or copy it again.")


def _digest(held: mmap.mmap, start: int) -> str:
    digest = hashlib.sha256()
    for part in _parts(held, start):
        digest.update(part)
    return digest.hexdigest()


def _parts(held: mmap.mmap, start: int) -> Generator[bytes]:
    """The file's bytes, with a blank checksum."""
    for first, last in ((0, start), (start + 64, len(held))):
        for begin in range(first, last, _AT_ONCE):
            yield held[begin : min(begin + _AT_ONCE, last)]
        if last == start:
            yield b"0" * 64


TABLE = b"headscope.table"  # marks a Parquet file that holds a table alone
TABLES = (".csv", ".parquet")


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Generator[Path]:
    """Yield a temporary path beside `path`; on success it replaces `path`.

    A reader never sees half a file, and a failed run leaves an older output untouched.
    """
    target = Path(path)
    if target.is_dir():
        raise BadInput(f"{target} is a folder; give the name of a file to write.")
    if target.exists() and not target.is_file():  # a device or a pipe would be replaced for good
        raise BadInput(f"{target} is not an ordinary file; give the name of a file to write.")
    if not target.parent.is_dir():
        raise BadInput(f"The folder {target.parent} does not exist; create it or choose another.")
    # named before it is made, so that an interrupt in between leaks no file
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}{target.suffix}")
    try:
        made = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        mode = stat.S_IMODE(os.fstat(made).st_mode)
        os.close(made)
        yield temporary
        temporary.chmod(mode)  # safetensors writes files that only the owner may read
        temporary.replace(target)
    except OSError as error:
        raise HeadscopeError(_cannot_write(target, error)) from error
    finally:
        temporary.unlink(missing_ok=True)


def check_table(path: str | os.PathLike[str], what: str = "A table") -> Path:
    """Raise an error for a bad path before the work begins."""
    found = Path(path)
    if found.suffix.lower() not in TABLES:
        raise BadInput(f"{what} is written as {' or '.join(TABLES)}, not as {found.name}.")
    return found


def beside(path: Path, what: str) -> Path:
    """The path of a second table: `heads.csv` and `heads-what.csv`."""
    return path.with_name(f"{path.stem}-{what}{path.suffix}")


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a data frame as .csv or .parquet, by its ending, completely or not at all."""
    found = check_table(path)
    with atomic_path(found) as temporary:
        if found.suffix.lower() == ".csv":
            frame.to_csv(temporary, index=False)
        else:
            import pyarrow
            import pyarrow.parquet

            table = pyarrow.Table.from_pandas(frame, preserve_index=False)
            table = table.replace_schema_metadata({**(table.schema.metadata or {}), TABLE: b"1"})
            pyarrow.parquet.write_table(table, temporary, compression="zstd")


def write_tensors(
    tensors: Mapping[str, Tensor],
    path: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write tensors as a safetensors file with a checksum, completely or not at all."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    with atomic_path(path) as temporary:
        try:
            save_file(dict(tensors), temporary, {**(metadata or {}), CHECKSUM: BLANK})
        except SafetensorError as error:  # it does not raise OSError for a full disk
            raise OSError(str(error)) from error
        seal(temporary)


def write_json(
    found: Mapping[str, Any], path: str | os.PathLike[str], indent: int | None = None
) -> None:
    """Write a JSON object, whose `format` names it, with a checksum, completely or not at all."""
    with atomic_path(path) as temporary:
        text = json.dumps({**found, CHECKSUM: BLANK}, indent=indent, ensure_ascii=False)
        temporary.write_text(text, "utf-8")
        seal(temporary)


def read_json(form: str, path: Path) -> dict[str, Any]:
    """What `write_json` wrote; a ValueError if the file has another format."""
    found: Any = parse_json(path.read_bytes())
    if not isinstance(found, dict) or found.pop("format", None) != form:
        raise ValueError(f"{path} is of another format")
    check_seal(path)
    return {name: value for name, value in found.items() if name != CHECKSUM}


def sweep(path: str | os.PathLike[str]) -> None:
    """Remove what a killed write of `path` left behind; only its one writer may ask for it."""
    target = Path(path)
    left = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}{re.escape(target.suffix)}")
    if target.parent.is_dir():
        for other in target.parent.iterdir():
            if left.fullmatch(other.name) and other.is_file():
                other.unlink(missing_ok=True)


def _cannot_write(target: Path, error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{target} could not be written ({reason}); free some space or choose another folder."
