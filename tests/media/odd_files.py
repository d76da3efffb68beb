"""Pictures and sounds as people really have them, and what becomes of each."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image


def _saved(image: Image.Image, kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def _photo() -> Image.Image:
    gradient = np.linspace(0, 255, 60 * 40 * 3).reshape(40, 60, 3)
    return Image.fromarray(gradient.astype(np.uint8))


def _turned() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6  # rotate by a quarter
    return _saved(_photo(), "JPEG", exif=exif)


def huge() -> bytes:
    """A PNG that says it has a hundred million pixels, in a few bytes."""
    data = bytearray(_saved(Image.new("1", (8, 8)), "PNG"))
    data[16:24] = struct.pack(">II", 10_000, 10_000)
    data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    return bytes(data)


def _clear() -> bytes:
    return _saved(Image.new("RGBA", (40, 40), (255, 0, 0, 0)), "PNG")


def _grey() -> bytes:
    ramp = np.linspace(0, 65535, 1600, dtype=np.uint16).reshape(40, 40)
    return _saved(Image.fromarray(ramp), "PNG")


# the name of a file, its bytes, and what the sentence says; None: it is read
ODD_PICTURES: dict[str, tuple[str, bytes, str | None]] = {
    "a truncated JPEG": ("cut.jpg", _saved(_photo(), "JPEG")[:400], "damaged or cut off"),
    "100 megapixels": ("huge.png", huge(), "100 million pixels"),
    "a PDF called PNG": ("paper.png", b"%PDF-1.7\n1 0 obj", "not a picture"),
    "turned by its camera": ("turned.jpg", _turned(), None),
    "transparent": ("clear.png", _clear(), None),
    "16 bits of grey": ("grey.png", _grey(), None),
}


def three_hours(path: Path, rate: int = 1000) -> Path:
    """A WAV file of eight bits, as long on disk as it says, all of it silence."""
    count = 3 * 3600 * rate
    header = b"RIFF" + struct.pack("<I", 36 + count) + b"WAVEfmt "
    header += struct.pack("<IHHIIHH", 16, 1, 1, rate, rate, 1, 8)
    with path.open("wb") as file:
        file.write(header + b"data" + struct.pack("<I", count))
        file.truncate(44 + count)
    return path
