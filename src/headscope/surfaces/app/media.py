"""Pictures and sounds in the app: what comes along, what is taken, and what is read of it.

They arrive as bytes and are decoded here by libraries made for it, by their content and never by
their name; nothing of them is written down, and a reading that is let go takes them with it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from headscope.errors import BadInput
from headscope.media import Picture, Sound, open_picture, open_sound
from headscope.reading import Reading, Scope

FOLDER = Path(__file__).parent / "media_examples"
MOST_BYTES = 12_000_000  # of a picture or a sound
MOST_SECONDS = 60.0
EXAMPLES: dict[str, tuple[Literal["image", "audio"], str]] = {
    "seven.png": ("image", "a seven on a noisy ground"),
    "four.png": ("image", "a four in a corner"),
    "tones.wav": ("audio", "rising tones with pauses"),
}
Made = Picture | Sound


@dataclass(frozen=True)
class MediaInput:
    """A picture or a sound, with the text about it if there is one."""

    made: Made
    text: str | None


def for_page() -> list[dict[str, str]]:
    return [
        {"name": name, "kind": kind, "title": title} for name, (kind, title) in EXAMPLES.items()
    ]


def senses(scope: Scope) -> dict[str, bool]:
    """Whether a model takes pictures, sounds, and texts."""
    first = getattr(scope.model, "main_input_name", "input_ids")
    sees = first == "pixel_values" or getattr(scope.model.config, "vision_config", None) is not None
    hears = first in ("input_features", "input_values")
    return {"sees": sees, "hears": hears, "reads": scope.tokenizer is not None and not hears}


def media_input(found: Mapping[str, Any], text: str) -> MediaInput:
    """What a request holds: an example by its name, or the bytes of a file."""
    about = text if text.strip() else None
    kind, name = found.get("media"), found.get("name")
    if not isinstance(name, str) or len(name) > 200:
        raise BadInput("The request needs the name of a picture or a sound.")
    if kind == "example":
        if name not in EXAMPLES:
            raise BadInput("There is no such example.")
        return MediaInput(_opened(EXAMPLES[name][0], (FOLDER / name).read_bytes(), name), about)
    if kind not in ("image", "audio"):
        raise BadInput("'media' is image, audio or example.")
    return MediaInput(_opened(kind, _bytes(found.get("data")), name), about)


def _bytes(data: Any) -> bytes:
    if not isinstance(data, str):
        raise BadInput("The request needs the bytes of a file as base64 in 'data'.")
    if len(data) > MOST_BYTES * 4 // 3 + 4:
        raise BadInput(f"The app takes files of up to {MOST_BYTES // 1_000_000} MB.")
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadInput("The file did not arrive as base64.") from error


def _opened(kind: str, data: bytes, name: str) -> Made:
    if kind == "image":
        return open_picture(data, name)
    sound = open_sound(data, name=name)
    if sound.seconds > MOST_SECONDS:
        raise BadInput(
            f"{name} lasts {sound.seconds:.0f} s; the app takes up to {MOST_SECONDS:.0f} s."
        )
    return sound


def read_media(scope: Scope, asked: MediaInput) -> Reading:
    can = senses(scope)
    if isinstance(asked.made, Picture):
        if not can["sees"]:
            raise BadInput(f"{scope.name} sees no pictures; choose a model that does.")
        return scope.read(asked.text, image=asked.made)
    if not can["hears"]:
        raise BadInput(f"{scope.name} hears no sound; choose a model that does.")
    return scope.read(asked.text, audio=asked.made)
