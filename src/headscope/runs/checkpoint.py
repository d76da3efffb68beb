"""What a run has so far, kept beside its output so that a stopped run goes on from there."""

from __future__ import annotations

import json
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.files import atomic_path

KEEP_EVERY = 10.0  # seconds of work that a killed run may lose


@dataclass
class Progress:
    """How far a run has come through its corpus."""

    chunks: int = 0
    segments: int = 0
    fingerprint: str = ""  # of the segments read so far


class Pace:
    """Says when it is time to keep again."""

    def __init__(self) -> None:
        self._kept_at = time.monotonic()

    def due(self) -> bool:
        if time.monotonic() - self._kept_at <= KEEP_EVERY:
            return False
        self._kept_at = time.monotonic()
        return True


def partial_path(output: Path) -> Path:
    return output.with_name(output.name + ".partial")


def keep(
    output: Path, identity: str, progress: Progress, arrays: dict[str, NDArray[np.generic]]
) -> None:
    """Write everything in one file that replaces the one before it whole."""
    state = json.dumps({"identity": identity, **vars(progress)})
    with atomic_path(partial_path(output)) as temporary, temporary.open("wb") as file:
        np.savez(file, state=np.array(state), **arrays)  # pyright: ignore[reportArgumentType]


def recall(output: Path, identity: str) -> tuple[Progress, dict[str, NDArray[np.generic]]] | None:
    """What an earlier run with the same settings kept, if there is one."""
    path = partial_path(output)
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        state = json.loads(str(arrays.pop("state")))
        kept = state.pop("identity")
        progress = Progress(**state)
    except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise BadInput(
            f"{path} cannot be read ({error}); delete it, or start anew with --restart."
        ) from error
    if kept != identity:
        raise BadInput(
            f"{path} belongs to a run with other settings or another model; delete it, start "
            "anew with --restart, or choose another output."
        )
    return progress, arrays


def check_corpus(progress: Progress, fingerprint: str) -> None:
    """A run goes on only over the texts it began with."""
    if fingerprint != progress.fingerprint:
        raise BadInput(
            "The corpus is not the one the earlier run read; start anew with --restart, or "
            "choose another output."
        )


def forget(output: Path) -> None:
    partial_path(output).unlink(missing_ok=True)
