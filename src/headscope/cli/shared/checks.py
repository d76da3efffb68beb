"""Checks of a command's arguments before a model is opened."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from headscope.errors import BadInput


def check_output(path: Path, endings: Sequence[str], what: str) -> None:
    """Check that the output's ending is known and its folder is writable."""
    if path.suffix.lower() not in endings:
        listed = " or ".join(filter(None, (", ".join(endings[:-1]), endings[-1])))
        raise BadInput(f"{what} is written as {listed}, not as {path.name}.")
    check_place(path)


def check_place(path: Path) -> None:
    """Check that a file can be written there."""
    check_name(path)
    if path.is_dir():
        raise BadInput(f"{path} is a folder; give the name of a file to write.")
    if path.exists() and not path.is_file():
        raise BadInput(f"{path} is a device or a pipe; give the name of a file to write.")
    if not path.parent.is_dir():
        raise BadInput(f"The folder {path.parent} does not exist; create it or choose another.")
    if not os.access(path.parent, os.W_OK):
        raise BadInput(f"{path.parent} cannot be written to; choose another folder.")


def check_figure(path: Path | None) -> None:
    """Check that a figure with that ending can be drawn and written there."""
    from headscope.figures.style import check_format

    if path is not None:
        check_format(path.suffix.lstrip(".").lower())
        check_place(path)


def check_folder(path: Path | None) -> None:
    """Check that the folder exists or can be created."""
    if path is None:
        return
    if path.exists() and not path.is_dir():
        raise BadInput(f"{path} is a file; give the name of a folder.")
    if not path.exists() and not path.absolute().parent.is_dir():
        raise BadInput(f"The folder {path.parent} does not exist; create it or choose another.")


def check_data(*given: str | Path | None) -> None:
    """Check that the files to read exist."""
    from headscope.corpus.open_text import is_uri
    from headscope.corpus.sample import SAMPLE

    for path in given:
        if path is None or str(path) in ("-", SAMPLE) or is_uri(path):
            continue
        check_name(path)
        if not Path(path).exists():
            raise BadInput(f"There is no file or folder {path}; check the path.")


def check_name(path: str | Path) -> None:
    """Check that a path is valid: not empty and not too long."""
    if not str(path).strip():
        raise BadInput("The name of a file is empty.")
    try:
        Path(path).exists()  # raises if the name is too long or contains a zero byte
    except (OSError, ValueError) as error:
        raise BadInput(f"{str(path)[:80]!r} cannot be the name of a file ({error}).") from error


def check_numbers(
    *, limit: int | None = None, max_tokens: int | None = None, **at_least_one: int
) -> None:
    """Check the numbers of the shared options and other counts."""
    if limit is not None and limit < 1:
        raise BadInput(f"A limit is at least 1, not {limit}.")
    if max_tokens is not None and max_tokens < 8:
        raise BadInput(f"Texts need room for at least 8 tokens, not {max_tokens}.")
    for name, value in at_least_one.items():
        if value < 1:
            raise BadInput(f"--{name.replace('_', '-')} is at least 1, not {value}.")
