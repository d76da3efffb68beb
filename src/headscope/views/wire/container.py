"""The container for sending a view to the browser: a JSON header and typed buffers.

Little endian: "HSV1", uint32 header length, header, zero padding to 8, then the buffers back to
back, each starting at a multiple of 8. Offsets count from the end of the padded header. Numbers are
typed bytes and text is JSON, so that no token can become markup or script.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headscope.views.wire.packing import Packed

MAGIC = b"HSV1"
_HALVES = re.compile("[\ud800-\udfff]")


def _aligned(length: int) -> int:
    return (length + 7) // 8 * 8


@dataclass
class Buffers:
    """Named buffers of a view, in the order they were added."""

    packed: dict[str, Packed] = field(default_factory=dict[str, Packed])

    def add(self, name: str, packed: Packed) -> dict[str, str]:
        """Add the buffer; returns its reference for the header."""
        if name in self.packed:
            raise ValueError(f"A buffer named {name!r} is already in this view's data.")
        self.packed[name] = packed
        return {"buffer": name}

    def table(self) -> dict[str, dict[str, Any]]:
        offset = 0
        entries: dict[str, dict[str, Any]] = {}
        for name, packed in self.packed.items():
            entries[name] = packed.entry() | {"offset": offset}
            offset += _aligned(len(packed.data))
        return entries


@dataclass(frozen=True)
class ViewData:
    """A view's data for any surface: the header, and the bytes of its buffer table."""

    header: Mapping[str, Any]
    buffers: Mapping[str, bytes]

    @property
    def size(self) -> int:
        return sum(len(data) for data in self.buffers.values())

    def header_json(self) -> str:
        """Compact JSON; lone surrogates, which cannot be encoded, as escapes."""
        text = json.dumps(self.header, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return _HALVES.sub(lambda half: f"\\u{ord(half[0]):04x}", text)

    def container(self) -> bytes:
        header = self.header_json().encode()
        start = _aligned(8 + len(header))
        pieces = [MAGIC, struct.pack("<I", len(header)), header, b"\0" * (start - 8 - len(header))]
        for data in self.buffers.values():
            pieces += [data, b"\0" * (_aligned(len(data)) - len(data))]
        return b"".join(pieces)


def view_data(header: Mapping[str, Any], buffers: Buffers) -> ViewData:
    """Combine a header with its buffers."""
    full = {"version": 1, **header, "buffers": buffers.table()}
    return ViewData(full, {name: packed.data for name, packed in buffers.packed.items()})


def joined(data: ViewData, header: Mapping[str, Any], more: ViewData) -> ViewData:
    """A reading's container with further header fields and buffers."""
    ends = (
        entry["offset"] + _aligned(len(data.buffers[name]))
        for name, entry in data.header["buffers"].items()
    )
    end = max(ends, default=0)
    moved = {
        name: {**entry, "offset": entry["offset"] + end}
        for name, entry in more.header["buffers"].items()
    }
    whole = {**data.header, **header, "buffers": {**data.header["buffers"], **moved}}
    return ViewData(whole, {**data.buffers, **more.buffers})
