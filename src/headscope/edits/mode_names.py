"""Which modes there are, by their files: naming them must not import what computes with them."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "modes"


def mode_names() -> tuple[str, ...]:
    """The modes a command may be told: all but the one that needs the caller's own weights."""
    names = (path.stem for path in sorted(FOLDER.glob("[a-z]*.py")))
    return tuple(name for name in names if name != "given")
