"""Attention from a file by other software: layer × head × query × key with its tokens.

A .npz or .safetensors file holds one array of four axes whose name begins with "att", or one of
three axes per layer with the layer's number in its name. Tokens are an array `tokens` (.npz) or a
JSON list under `tokens` in the metadata (.safetensors).
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from headscope.errors import BadInput

AXES = "layer × head × query × key"


def dumped(path: Path) -> tuple[list[Any], list[int] | None, list[str] | None]:
    """A file's layers (heads × queries × keys each), their numbers, and its tokens."""
    if not path.is_file():
        raise BadInput(f"There is no file {path}; give attention as .npz or .safetensors.")
    with path.open("rb") as file:
        zipped = file.read(2) == b"PK"
    try:
        arrays, tokens = _npz(path) if zipped else _safetensors(path)
    except BadInput:
        raise
    except (ValueError, OSError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise BadInput(f"{path} cannot be read as arrays ({str(error)[:120]}).") from None
    layers, numbers = _layers(path, arrays)
    if tokens is not None and not (
        isinstance(tokens, list) and all(isinstance(one, str) for one in tokens)
    ):
        raise BadInput(f"The tokens in {path} are not a list of strings; write one for each row.")
    return layers, numbers, tokens


def is_headscopes(path: Path) -> bool:
    """Whether a safetensors file was written as a reading."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = file.read(min(size, 2**26))
    try:
        return "headscope" in json.loads(header).get("__metadata__", {})
    except (ValueError, AttributeError):
        return True  # a damaged one: its own error says more


def _npz(path: Path) -> tuple[dict[str, Any], Any]:
    with np.load(path, allow_pickle=False) as file:
        try:
            found = {name: file[name] for name in file.files}
        except ValueError:
            raise BadInput(
                f"{path} holds pickled objects, which are not opened; write tokens as an array of "
                "strings: np.array(tokens, dtype=str)."
            ) from None
    tokens = found.pop("tokens", None)
    return found, None if tokens is None else [str(one) for one in np.ravel(tokens)]


def _safetensors(path: Path) -> tuple[dict[str, Any], Any]:
    from safetensors import SafetensorError, safe_open

    try:
        file: Any = safe_open(path, framework="pt")
        found = {name: file.get_tensor(name).float().numpy() for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise BadInput(f"{path} is damaged or not a safetensors file ({error}).") from None
    listed = (file.metadata() or {}).get("tokens")
    return found, None if listed is None else json.loads(listed)


def _layers(path: Path, arrays: Mapping[str, Any]) -> tuple[list[Any], list[int] | None]:
    whole = [name for name in arrays if name.lower().startswith("att") and arrays[name].ndim >= 4]
    if len(whole) == 1:
        return list(arrays[whole[0]]), None
    numbered = {
        int(match.group()): arrays[name]
        for name in arrays
        if (match := re.search(r"\d+", name)) and arrays[name].ndim in (3, 4)
    }
    if not numbered or len(whole) > 1:
        shown = ", ".join(list(arrays)[:4]) or "nothing"
        raise BadInput(
            f"{path} holds {shown}; attention is one array 'attention' ({AXES}), or one of three "
            "axes per layer with its number in the name."
        )
    order = sorted(numbered)
    return [numbered[at] for at in order], order
