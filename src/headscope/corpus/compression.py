"""Compressed files, known by the last ending of their names."""

from __future__ import annotations

import bz2
import gzip
import lzma

COMPRESSED = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}


def without_compression(name: str) -> str:
    stem, dot, last = name.rpartition(".")
    return stem if (dot + last).lower() in COMPRESSED else name
