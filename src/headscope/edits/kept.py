"""Kept: finished batches of a long run, on disk, so that a stopped run goes on where it was."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headscope.files import atomic_path


@dataclass(frozen=True)
class Kept:
    """Arrays of finished batches in `folder`; what was made with another key is not used."""

    folder: Path
    key: str

    @staticmethod
    def beside(output: Path, **decides: object) -> Kept:
        """Beside the output file, keyed by all that decides the result."""
        text = json.dumps(decides, sort_keys=True, default=str)
        key = hashlib.sha256(text.encode()).hexdigest()[:12]
        return Kept(output.with_name(f".{output.name}.unfinished"), key)

    def load(self, number: int) -> tuple[np.ndarray, np.ndarray] | None:
        path = self._path(number)
        if not path.exists():
            return None
        try:
            with np.load(path) as found:
                return found["baseline"], found["edited"]
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return None  # computed again

    def store(self, number: int, baseline: np.ndarray, edited: np.ndarray) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with atomic_path(self._path(number)) as temporary:
            np.savez(temporary, baseline=baseline, edited=edited)

    def clear(self) -> None:
        """Forget, once the output is written."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, number: int) -> Path:
        return self.folder / f"{self.key}-{number}.npz"
