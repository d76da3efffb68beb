"""One run at a time per output: a lock that dies with its process, however that ends."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator
from pathlib import Path

from headscope.errors import BadInput, HeadscopeError


@contextlib.contextmanager
def only_writer(output: Path, *, folder: bool = False) -> Generator[None]:
    """Hold the output for this run; another run that wants it is told so at once."""
    if output.is_dir() and not folder:
        raise BadInput(f"{output} is a folder; give the name of a file to write.")
    if not output.parent.is_dir():
        raise BadInput(f"The folder {output.parent} does not exist; create it or choose another.")
    if output.exists() and not output.is_dir() and not output.is_file():
        raise BadInput(f"{output} is not an ordinary file; give the name of a file to write.")
    path = output.with_name(f".{output.name}.lock")
    handle = _hold(path)
    if handle is None:
        raise HeadscopeError(
            f"Another run is writing {output}; wait for it to end, or choose another output."
        )
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def _hold(path: Path) -> int | None:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise HeadscopeError(
            f"{path.parent} cannot be written to ({error.strerror}); choose another place."
        ) from error
    if not _take(handle):
        os.close(handle)
        return None
    # the run before may have removed the file between our opening and our locking it
    if not path.exists() or path.stat().st_ino != os.fstat(handle).st_ino:
        os.close(handle)
        return _hold(path)
    return handle


def _take(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
