"""A live page in a browser, asked by its routes; what it answers as arrays."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import numpy as np
from playwright.sync_api import Page

ASK = """async ([path, body]) => {
  const reply = await headscopeEngine.fetch(path, body ? { method: "POST", body: JSON.stringify(body) } : {});
  const bytes = new Uint8Array(await reply.arrayBuffer());
  let text = "";
  for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
  return [reply.status, btoa(text)];
}"""  # noqa: E501
WATCH = """addEventListener("securitypolicyviolation", event =>
  (globalThis.violations ??= []).push(event.violatedDirective))"""
KINDS = {"float32": np.float32, "uint8": np.uint8}


def ask(page: Page, path: str, body: dict[str, Any] | None = None) -> tuple[int, bytes]:
    status, text = page.evaluate(ASK, [path, body])
    return status, base64.b64decode(text)


def asked_json(page: Page, path: str, body: dict[str, Any] | None = None) -> Any:
    status, data = ask(page, path, body)
    assert status == 200, data
    return json.loads(data)


class Answered:
    """A reading as the page has it."""

    def __init__(
        self, page: Page, text: str, pair: str | None = None, off: Any = (), **more: Any
    ) -> None:
        """more: a picture's `media`, `name` and `data`, or truncate."""
        given = {"model": "", "text": text, "text_pair": pair, "off": list(off), **more}
        status, data = ask(page, "api/media" if "media" in more else "api/read", given)
        assert status == 200, data
        length = int.from_bytes(data[4:8], "little")
        self.header = json.loads(data[8 : 8 + length])
        self._data = data[-(-(8 + length) // 8) * 8 :]
        self.part = self.header["parts"][0]
        self.tokens = self.part["query"]

    def array(self, name: str) -> np.ndarray:
        entry = self.header["buffers"][name]
        own = self._data[entry["offset"] : entry["offset"] + entry["bytes"]]
        return np.frombuffer(own, KINDS[entry["dtype"]]).reshape(entry["shape"])

    def attention(self) -> np.ndarray:
        """l h t s from q and k, as the views compute it."""
        made: list[np.ndarray] = []
        for layer in self.part["per_layer"]:
            q, k = (self.array(layer[name]["buffer"]).astype(np.float64) for name in "qk")
            k = np.repeat(k, len(q) // len(k), axis=0)
            scores = np.einsum("htd,hsd->hts", q, k) * layer["scaling"]
            if layer["softcap"]:
                scores = layer["softcap"] * np.tanh(scores / layer["softcap"])
            if layer["mask"] != "none":
                t = scores.shape[1]
                window = t if layer["mask"] == "causal" else layer["mask"]["window"]
                back = np.arange(t)[:, None] - np.arange(t)
                scores = np.where((back >= 0) & (back < window), scores, -np.inf)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            made.append(weights / weights.sum(-1, keepdims=True))
        return np.stack(made)

    def columns(self) -> dict[str, np.ndarray]:
        found = self.header["table"]["columns"]
        return {one["name"]: self.array(one["buffer"]) for one in found}


WORDS = (
    "the quick brown fox jumps over a lazy dog strawberries didn't it's Zürich naïve café 3.14 "
    "well-known U.S.A. <b>bold</b> &amp; (yes) 你好 漢字 かな 한국어 😀 👩‍👩‍👧 привет שלום مرحبا "
    "[MASK] … “quoted” end. e-mail@example.org \u200b x² ½ $5 100% unbelievableness zzzzqqq"
).split(" ")


def generated(count: int, most: int = 200, seed: int = 0) -> list[tuple[str, str | None]]:
    """Texts and pairs of words of many scripts, from one word up."""
    draw = random.Random(seed)
    made: list[tuple[str, str | None]] = [("a", None), ("😀", None), ("漢字", "x")]
    while len(made) < count:
        size = draw.choice((1, 2, 5, 12, 30, most // 3))
        text, pair = (" ".join(draw.choices(WORDS, k=size)) for _ in range(2))
        made.append((text, pair if draw.random() < 0.4 else None))
    return made


def some_heads(seed: int) -> list[tuple[str, int, int]]:
    """None, one or six heads of the bundled model."""
    draw = random.Random(seed)
    count = draw.choice((0, 1, 6))
    return list({("encoder", draw.randrange(12), draw.randrange(8)): 0 for _ in range(count)})
