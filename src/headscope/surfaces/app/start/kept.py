"""What a page asks first, as it was answered at the last start by the same model and code.

Importing torch takes seconds; the first example read by a model gives the same numbers every time.
Nothing here needs more than the standard library.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from stat import S_ISREG
from typing import Any, cast

_DECIDING = ("torch", "transformers", "tokenizers", "numpy")
_MOST = 8  # kept for as many models
_ASKED = "asked.json"


@dataclass(frozen=True)
class FirstScreen:
    """The reading's id and request, and the answers by method and address."""

    id: str
    asked: Mapping[str, Any]
    answers: Mapping[str, bytes]

    def answer(self, method: str, path: str, body: bytes) -> tuple[bytes, bytes] | None:
        """Its media type and content; None for everything that is not of the first screen."""
        found = self.answers.get(f"{method} {path}")
        if found is None or (method == "POST" and not self._is_asked(path, body)):
            return None
        is_reading = path == "/api/read"
        return b"application/octet-stream" if is_reading else b"application/json", found

    def _is_asked(self, path: str, body: bytes) -> bool:
        try:
            fields = json.loads(body)
        except ValueError:
            return False
        if not isinstance(fields, dict):
            return False
        told = _said(cast("dict[str, Any]", fields))
        told.pop("ticket", None)  # nobody waits in a queue here
        return told == _said(self.asked if path == "/api/read" else {"id": self.id})

    def save(self, path: Path) -> None:
        """Where a cache cannot be written the next start is only slower."""
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_suffix(f".{os.getpid()}")
            with zipfile.ZipFile(partial, "w") as written:
                written.writestr(_ASKED, json.dumps({"id": self.id, "asked": dict(self.asked)}))
                for name, content in self.answers.items():
                    written.writestr(name, content)
            partial.replace(path)
            older = sorted(path.parent.glob("*.zip"), key=lambda one: one.stat().st_mtime)
            for one in older[:-_MOST]:
                one.unlink(missing_ok=True)


def _said(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is left open: layer 0 is said, no layer is not."""
    return {
        name: value
        for name, value in fields.items()
        if value is not None and value is not False and value not in ("", [])
    }


def load(path: Path | None) -> FirstScreen | None:
    if path is None:
        return None
    try:
        with zipfile.ZipFile(path) as opened:
            about = json.loads(opened.read(_ASKED))
            names = [name for name in opened.namelist() if name != _ASKED]
            answers = {name: opened.read(name) for name in names}
        return FirstScreen(about["id"], about["asked"], answers)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None


def place(models: Sequence[str], device: str | None, dtype: str | None = None) -> Path | None:
    """Where the first screen of these models is kept; None where that cannot be known yet.

    The name tells everything the answers depend on: this package's files, the model's files, the
    libraries that compute. A name on a hub says nothing about its files before it is opened.
    """
    folders = [Path(__file__).parents[3]]
    if models:
        folders.append(Path(models[-1]))  # the one the app opens on
    if not all(folder.is_dir() for folder in folders):
        return None
    known: list[Any] = [sys.version, list(models), device, dtype]
    known += [(name, _version(name)) for name in _DECIDING]
    known += [_files(folder) for folder in folders]
    name = hashlib.sha256(json.dumps(known).encode()).hexdigest()[:32]
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "headscope" / "first-screens" / f"{name}.zip"


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _files(folder: Path) -> list[tuple[str, int, int]]:
    """Every file with its size and the time it was written."""
    return sorted(
        (str(path), about.st_size, about.st_mtime_ns)
        for path in folder.rglob("*")
        if path.suffix != ".pyc" and S_ISREG((about := path.stat()).st_mode)
    )
