"""Outputs appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

from headscope.errors import BadInput, HeadscopeError

if TYPE_CHECKING:
    import pandas as pd

TABLES = (".csv", ".parquet")


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Generator[Path]:
    """Yield a temporary path beside `path`; on success it takes the place of `path`.

    A reader never sees half a file, and a failed run leaves an older output untouched.
    """
    target = Path(path)
    if target.is_dir():
        raise BadInput(f"{target} is a folder; give the name of a file to write.")
    if not target.parent.is_dir():
        raise BadInput(f"The folder {target.parent} does not exist; create it or choose another.")
    try:
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name}.", suffix=target.suffix
        )
    except OSError as error:
        raise HeadscopeError(_cannot_write(target, error)) from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())  # mkstemp makes private files; outputs are ordinary ones
        temporary.replace(target)
    except OSError as error:
        raise HeadscopeError(_cannot_write(target, error)) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a data frame as .csv or .parquet, by the ending of its name, whole or not at all."""
    ending = Path(path).suffix.lower()
    if ending not in TABLES:
        raise BadInput(f"A table is written as {' or '.join(TABLES)}, not as {Path(path).name}.")
    with atomic_path(path) as temporary:
        if ending == ".csv":
            frame.to_csv(temporary, index=False)
        else:
            frame.to_parquet(temporary, index=False)


def _cannot_write(target: Path, error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{target} could not be written ({reason}); free some space or choose another place."


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
