"""Arrays as few bytes: quantised so that shown numbers are right to 1e-3, then deflated.

Items of several bytes are stored as planes (all low bytes, then all high bytes): the high bytes of
neighbouring weights are similar and deflate well, separated from the low bytes.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

WEIGHT_STEP = 1e-3  # weights are rounded to the nearest step
FINE_STEP = 1 / 65535  # for sums: a sound has 1,500 moments, each with a small weight
FLOAT_MANTISSA = 23


@dataclass(frozen=True)
class Packed:
    dtype: str
    shape: tuple[int, ...]
    data: bytes
    codec: str = "raw"
    scale: float | None = None
    planes: bool = False

    def entry(self) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "dtype": self.dtype,
            "shape": list(self.shape),
            "bytes": len(self.data),
            "codec": self.codec,
        }
        if self.scale is not None:
            entry["scale"] = self.scale
        if self.planes:
            entry["planes"] = True
        return entry


def deflate(data: NDArray[np.uint8]) -> bytes:
    """Raw deflate with runs and frequencies only: searching for repeats makes the result larger and
    takes eight times as long."""
    packer = zlib.compressobj(1, zlib.DEFLATED, -15, 9, zlib.Z_RLE)
    return packer.compress(np.ascontiguousarray(data).data) + packer.flush()


def _planes(items: NDArray[Any]) -> NDArray[np.uint8]:
    """n items of w bytes -> w rows of n bytes, lowest byte first."""
    flat = np.ascontiguousarray(items).reshape(-1)
    return np.ascontiguousarray(flat.view(np.uint8).reshape(flat.size, flat.itemsize).T)


def weight_codes(weights: NDArray[np.floating], step: float = WEIGHT_STEP) -> NDArray[np.uint16]:
    scaled = np.multiply(weights, 1.0 / step, dtype=np.float32)
    np.add(scaled, 0.5, out=scaled)  # truncation below then rounds to nearest
    return scaled.astype(np.uint16)


def pack_weights(weights: NDArray[np.floating], step: float = WEIGHT_STEP) -> Packed:  # h t s
    """Attention weights as steps of 1e-3, or finer ones."""
    planes = _planes(weight_codes(weights, step))
    return Packed("uint16", weights.shape, deflate(planes), "deflate", step, planes=True)


def rounded(values: NDArray[np.float32], bits: int) -> NDArray[np.float32]:
    """The numbers rounded to `bits` of the mantissa; the rest is zeros, which pack to nothing."""
    drop = FLOAT_MANTISSA - bits
    if drop <= 0:
        return values
    code = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    code = (code + np.uint32(1 << (drop - 1))) & np.uint32(0xFFFFFFFF ^ ((1 << drop) - 1))
    return code.view(np.float32)


def pack_numbers(values: NDArray[np.floating]) -> Packed:
    """Exact to float32; numbers rounded to fewer bits take fewer bytes."""
    values = np.ascontiguousarray(values, dtype=np.float32)
    return Packed("float32", values.shape, deflate(_planes(values)), "deflate", planes=True)


def pack_bytes(values: NDArray[np.uint8]) -> Packed:
    values = np.ascontiguousarray(values)
    return Packed("uint8", values.shape, deflate(values), "deflate")


def pack_bits(values: NDArray[np.bool_]) -> Packed:
    bits = np.packbits(values.reshape(-1), bitorder="little")
    return Packed("bit", values.shape, deflate(bits), "deflate")


def pack_whole(values: NDArray[np.integer]) -> Packed:
    """Whole numbers from 0 up, in two bytes if they fit, else float32 (exact to 2^24)."""
    if values.max(initial=0) > np.iinfo(np.uint16).max:
        return pack_numbers(values.astype(np.float32))
    codes = values.astype(np.uint16)
    return Packed("uint16", codes.shape, deflate(_planes(codes)), "deflate", planes=True)
