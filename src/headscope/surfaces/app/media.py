"""Pictures and sounds in the app: examples, checks, and reading.

They arrive as bytes and are decoded by libraries, by content and never by name. Nothing is written
to disk, and they are dropped with their reading.
"""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import Literal

from headscope.errors import BadInput
from headscope.media.picture import open_picture
from headscope.media.sound import open_sound
from headscope.reading import Reading, Scope
from headscope.surfaces.app.request import MOST_MEDIA, MediaReadRequest

FOLDER = Path(__file__).parent / "media_examples"
MOST_SECONDS = 60.0
MOST_PIXELS = 12_500_000  # a camera's; reading one takes about 80 bytes per pixel
EXAMPLES: dict[str, tuple[Literal["image", "audio"], str]] = {
    "seven.png": ("image", "a seven on a noisy ground"),
    "four.png": ("image", "a four in a corner"),
    "tones.wav": ("audio", "rising tones with pauses"),
}


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


def read_media(scope: Scope, asked: MediaReadRequest) -> Reading:
    """Read a request's media: an example by its name, or the bytes of a file."""
    text = asked.text if asked.text.strip() else None
    if asked.media == "example" and asked.name not in EXAMPLES:
        raise BadInput("There is no such example.")
    kind = EXAMPLES[asked.name][0] if asked.media == "example" else asked.media
    can = senses(scope)
    if kind == "image" and not can["sees"]:
        raise BadInput(f"{scope.name} sees no pictures; choose a model that does.")
    if kind == "audio" and not can["hears"]:
        raise BadInput(f"{scope.name} hears no sound; choose a model that does.")
    data = (FOLDER / asked.name).read_bytes() if asked.media == "example" else _bytes(asked.data)
    if kind == "image":
        return scope.read(text, image=open_picture(data, asked.name, MOST_PIXELS))
    return scope.read(text, audio=open_sound(data, name=asked.name, most_seconds=MOST_SECONDS))


def _bytes(data: str) -> bytes:
    if len(data) > MOST_MEDIA * 4 // 3 + 4:
        raise BadInput(f"The app takes files of up to {MOST_MEDIA // 1_000_000} MB.")
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadInput("The uploaded file is not valid base64; send it again.") from error
