"""Pictures, sounds and places as tensors of a reading's file."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.capture.call import Kind
from headscope.media import Picture, Places, Sound
from headscope.reading.part import Part
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading.reading import Reading

_FIELDS = tuple(field.name for field in dataclasses.fields(Places))


def media_out(reading: Reading, tensors: dict[str, Any]) -> dict[str, Any]:
    """Add what was seen and heard to the tensors; what comes back goes into the metadata."""
    import torch

    for number, picture in enumerate(reading.pictures):
        tensors[f"picture.{number}"] = torch.from_numpy(picture.pixels.copy())
    if reading.sound is not None:
        tensors["sound"] = torch.from_numpy(reading.sound.samples.copy())
    for part in reading.parts.values():
        for side, tokens in (("query", part.query), ("key", part.key)):
            for name in _FIELDS if tokens.places is not None else ():
                values = np.ascontiguousarray(getattr(tokens.places, name))
                tensors[f"{part.kind}.{side}.{name}"] = torch.from_numpy(values.copy())
    sound = reading.sound
    return {
        "pictures": [picture.name for picture in reading.pictures],
        "sound": None if sound is None else {"rate": sound.rate, "name": sound.name},
    }


def media_in(described: dict[str, Any], file: Any) -> dict[str, Any]:
    """The pictures and the sound in a reading's file, by the names of the reading's fields."""
    media: dict[str, Any] = described.get("media") or {"pictures": [], "sound": None}
    pictures = tuple(
        Picture(file.get_tensor(f"picture.{number}").numpy(), name)
        for number, name in enumerate(media["pictures"])
    )
    sound = media["sound"]
    return {
        "pictures": pictures,
        "sound": None if sound is None else Sound(file.get_tensor("sound").numpy(), **sound),
    }


def with_positions(parts: dict[Kind, Part], file: Any) -> dict[Kind, Part]:
    """The parts, with where their tokens lie in pictures and sounds."""
    return {kind: _with_places(part, file) for kind, part in parts.items()}


def _with_places(part: Part, file: Any) -> Part:
    names = frozenset(file.keys())

    def placed(side: str, tokens: Tokens) -> Tokens:
        if f"{part.kind}.{side}.kinds" not in names:
            return tokens
        arrays = {name: file.get_tensor(f"{part.kind}.{side}.{name}").numpy() for name in _FIELDS}
        return dataclasses.replace(tokens, places=Places(**arrays))

    query, key = placed("query", part.query), placed("key", part.key)
    if query is part.query and key is part.key:
        return part
    return dataclasses.replace(part, query=query, key=key)
