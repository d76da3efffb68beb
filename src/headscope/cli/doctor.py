"""`headscope doctor`: versions, devices and what works here."""

from __future__ import annotations

import importlib.metadata
import platform
from typing import Any

import typer

from headscope.cli.shared.console import out

_NEEDED = ("torch", "transformers", "safetensors", "numpy", "pandas", "xarray", "scikit-learn")
_EXTRAS = {
    "gguf": "models as GGUF files",
    "soundfile": "sound files",
    "ray": "surveys on a cluster",
    "datasets": "data sets as corpora",
    "spacy": "trees of raw text",
    "accelerate": "fine-tuning, models over several devices",
    "anywidget": "live views in notebooks",
}


def register(app: typer.Typer) -> None:
    app.command("doctor")(doctor)


def doctor() -> None:
    """Print what is installed, which devices can be used, and whether a first reading works.

    Paste the output into a bug report.

    Example:

      headscope doctor
    """
    from headscope import __version__

    _line("headscope", __version__)
    _line("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for name in _NEEDED:
        _line(name, _version(name) or "missing: pip install headscope brings it")
    for name, purpose in _EXTRAS.items():
        _line(name, _version(name) or f"not installed ({purpose})")
    for name, state in _devices():
        _line(name, state)
    _line("front end", _front_end())
    works, told = _first_reading()
    _line("first reading", told)
    _line("to report", "paste these lines with the command or code and all it said")
    if not works:
        raise typer.Exit(1)


def _line(name: str, value: str) -> None:
    out.print(f"{name:<16}{value}", soft_wrap=True, markup=False, highlight=False)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _devices() -> list[tuple[str, str]]:
    import torch

    found = [("cpu", f"{torch.get_num_threads()} threads")]
    for number in range(torch.cuda.device_count()):
        properties: Any = torch.cuda.get_device_properties(number)
        memory = properties.total_memory / 2**30
        found.append((f"cuda:{number}", f"{properties.name}, {memory:.0f} GiB"))
    if torch.backends.mps.is_available():
        found.append(("mps", "available"))
    return found


def _front_end() -> str:
    from headscope.surfaces.bundle import PATH

    if not PATH.is_file():
        return "missing: install headscope again, or run make app in a checkout"
    return f"{PATH.stat().st_size / 1024:.0f} KB"


def _first_reading() -> tuple[bool, str]:
    """Read a short sentence with the bundled model: a broken installation fails here."""
    import headscope as hs

    try:
        reading = hs.load().read("The cat sat on the mat.")
        rows = reading.attention.sum("key")
    except Exception as error:  # a broken installation can fail in any way
        return False, f"failed: {type(error).__name__}: {error}"
    size = reading.attention.sizes
    return True, (
        f"works: {size['layer']} layers × {size['head']} heads of the bundled model, "
        f"rows sum to one within {float(abs(rows - 1).max()):.0e}"
    )
