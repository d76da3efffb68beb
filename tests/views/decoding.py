"""A second reader of the container, written from its description and sharing no code with it."""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np

TYPES = {"uint16": "<u2", "uint8": "u1", "int8": "i1", "float32": "<f4"}


class Container:
    def __init__(self, data: bytes) -> None:
        assert data[:4] == b"HSV1"
        length = int.from_bytes(data[4:8], "little")
        self.header: dict[str, Any] = json.loads(data[8 : 8 + length].decode("utf-8"))
        self._rest = data[-(-(8 + length) // 8) * 8 :]

    def array(self, reference: dict[str, str]) -> np.ndarray:
        entry = self.header["buffers"][reference["buffer"]]
        assert entry["offset"] % 8 == 0
        raw = self._rest[entry["offset"] : entry["offset"] + entry["bytes"]]
        if entry["codec"] == "deflate":
            raw = zlib.decompress(raw, wbits=-15)
        count = int(np.prod(entry["shape"]))
        if entry["dtype"] == "bit":
            bits = np.unpackbits(np.frombuffer(raw, "u1"), bitorder="little", count=count)
            return bits.astype(bool).reshape(entry["shape"])
        kind = np.dtype(TYPES[entry["dtype"]])
        if entry.get("planes"):
            planes = np.frombuffer(raw, "u1").reshape(kind.itemsize, count)
            raw = planes.T.tobytes()
        return np.frombuffer(raw, kind).reshape(entry["shape"]) * entry.get("scale", 1)

    def head(self, layer: int, head: int) -> np.ndarray:
        """t s of a head that travels as (part of) a piece."""
        header = self.header["parts"][0]
        at = header["layers"].index(layer)
        for piece in header["per_layer"][at]["pieces"]:
            if head in piece["heads"]:
                alone = {**header["per_layer"][at], **piece}
                few = {**header, "per_layer": [alone], "heads": len(piece["heads"]), "groups": 1}
                some = Container.__new__(Container)
                some.header, some._rest = {**self.header, "parts": [few]}, self._rest
                return some.weights(0, 0)[piece["heads"].index(head)]
        raise KeyError(head)

    def weights(self, part: int, at: int) -> np.ndarray:
        """h t s in float64: the maps, or the softmax that the page would compute."""
        header = self.header["parts"][part]
        layer = header["per_layer"][at]
        if layer.get("maps"):
            return self.array(layer["maps"]).astype(float)
        q, k = (self.array(layer[name]).astype(float) for name in "qk")
        k = np.repeat(k, header["heads"] // header["groups"], axis=0)
        scores = np.einsum("htd,hsd->hts", q, k) * layer["scaling"]
        if layer.get("softcap"):
            scores = layer["softcap"] * np.tanh(scores / layer["softcap"])
        _, t, s = scores.shape
        back = np.arange(t)[:, None] + (s - t) - np.arange(s)[None]
        if layer.get("bias"):
            bias = self.array(layer["bias"]).astype(float)
            if layer["bias"]["form"] == "relative":
                bias = bias[:, np.arange(s)[None] - np.arange(t)[:, None] + t - 1]
            scores = scores + bias
        scores = np.where(self._mask(layer["mask"], back), scores, -np.inf)
        top = scores.max(-1, keepdims=True)
        shares = np.exp(scores - top)
        total = shares.sum(-1, keepdims=True)
        if layer.get("sinks"):
            total = total + np.exp(self.array(layer["sinks"])[:, None, None] - top)
        return shares / total

    def _mask(self, mask: Any, back: np.ndarray) -> np.ndarray:
        if mask == "none":
            return np.ones_like(back, dtype=bool)
        if mask == "causal":
            return back >= 0
        if "window" in mask:
            near = np.abs(back) < mask["window"]
            return near & (back >= 0) if mask["causal"] else near
        return self.array(mask)
