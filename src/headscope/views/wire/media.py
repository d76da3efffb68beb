"""Pictures, sounds and positions for the page."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.media.picture import Picture
from headscope.media.positions import Positions
from headscope.media.sound import Sound, spectrogram
from headscope.reading import Reading
from headscope.reading.word_times import WordTime, word_times
from headscope.views.wire.container import Buffers
from headscope.views.wire.packing import Packed, pack_bytes, pack_numbers


def media_header(reading: Reading, buffers: Buffers) -> dict[str, Any]:
    """The page's pictures and sounds; nothing for readings of text alone."""
    header: dict[str, Any] = {}
    if reading.pictures:
        header["pictures"] = [
            _picture(picture, f"picture{number}", buffers)
            for number, picture in enumerate(reading.pictures)
        ]
    if reading.sound is not None:
        header["sound"] = _sound(reading.sound, buffers)
        header["sound"]["words"] = [
            {"text": word, "tokens": list(tokens), "start": start, "end": end}
            for word, tokens, start, end in timed_words(reading)
        ]
    return header


def timed_words(reading: Reading) -> tuple[WordTime, ...]:
    """The words of a transcript with their times; none if it has no words."""
    part = reading.parts.get("cross")
    if reading.sound is None or part is None or part.key.positions is None:
        return ()
    return word_times(reading)


def positions_header(positions: Positions, name: str, buffers: Buffers) -> dict[str, Any]:
    return {
        "kinds": buffers.add(f"{name}k", pack_bytes(positions.kinds.astype(np.uint8))),
        "rectangles": buffers.add(f"{name}r", pack_numbers(positions.rectangles)),
        "seconds": buffers.add(f"{name}s", pack_numbers(positions.seconds)),
        "pictures": buffers.add(f"{name}p", pack_numbers(positions.pictures.astype(np.float32))),
    }


def _picture(picture: Picture, name: str, buffers: Buffers) -> dict[str, Any]:
    data = picture.encoded()
    described = {"name": picture.name, "width": picture.width, "height": picture.height}
    return described | buffers.add(name, Packed("uint8", (len(data),), data))


def _sound(sound: Sound, buffers: Buffers) -> dict[str, Any]:
    loudness: NDArray[np.uint8] = spectrogram(sound)
    described = {"name": sound.name, "seconds": sound.seconds, "rate": sound.rate}
    return described | buffers.add("sound", pack_bytes(loudness))
