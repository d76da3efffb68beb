"""Where a checkpoint's files are, and their fingerprints; files that steps share are read once."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from headscope.errors import HeadscopeError, first_line

# files of the training, not of the model
LEFT_OUT = {"trainer_state.json", "training_args.bin", "generation_config.json"}
ENDINGS = {".safetensors", ".bin", ".gguf", ".json", ".txt", ".model", ".py"}


def local(model: str | Path) -> str | Path:
    """A folder for name@revision of the hub, and anything else as it is."""
    name, _, revision = str(model).rpartition("@")
    if not name or Path(model).exists():
        return model
    from huggingface_hub import snapshot_download

    try:
        return snapshot_download(name, revision=revision, ignore_patterns=["*.msgpack", "*.h5"])
    except Exception as error:  # errors of the network, of names, of licences
        raise HeadscopeError(
            f"Revision {revision!r} of {name} cannot be fetched ({first_line(error)}); check both "
            "names, or give a folder."
        ) from error


def digest(model: str | Path) -> str:
    """Fingerprint of everything that decides a checkpoint's numbers; its name if it is not a
    path."""
    place = Path(model).expanduser()
    if not place.exists():
        return str(model)
    files = [place] if place.is_file() else sorted(place.iterdir())
    whole = hashlib.sha256()
    for file in files:
        if file.is_file() and file.suffix in ENDINGS and file.name not in LEFT_OUT:
            named = "" if place.is_file() else file.name
            real = file.resolve()  # caches of the hub link to a file that several revisions share
            known = real.stat()
            own = _of_file(str(real), known.st_size, known.st_mtime_ns)
            whole.update(f"{named} {own}\n".encode())
    return whole.hexdigest()


@functools.lru_cache(maxsize=256)
def _of_file(path: str, size: int, changed: int) -> str:
    with Path(path).open("rb") as whole:
        return hashlib.file_digest(whole, "sha256").hexdigest()
