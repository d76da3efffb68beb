"""Quantised models in GGUF files."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import Any

from torch import nn

from headscope.errors import HeadscopeError, UnknownModel, first_line
from headscope.models.loading_report import check_complete, remember_untrained
from headscope.models.tokenizer_files import with_first_token


def open_gguf(path: Path, options: dict[str, Any]) -> tuple[nn.Module, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    if not path.is_file():
        raise UnknownModel(f"The GGUF file {path} does not exist; check the path.")
    try:
        import accelerate  # noqa: F401  # pyright: ignore  # transformers asks for it
        import gguf  # noqa: F401  # pyright: ignore
    except ImportError as error:
        raise HeadscopeError(
            f"Reading GGUF files needs the package {error.name}; run: pip install "
            "'headscope[gguf]'."
        ) from error
    where = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    try:
        opened: Any = AutoModelForCausalLM.from_pretrained(
            **where, **options, output_loading_info=True, trust_remote_code=False
        )
        model, report = opened
        tokenizer = AutoTokenizer.from_pretrained(**where, trust_remote_code=False)
        first = puts_token_first(path)
    except Exception as error:  # readers of damaged files may raise anything
        raise HeadscopeError(
            f"The GGUF file {path} cannot be read ({first_line(error)}); "
            "its architecture may be unknown to transformers, or the file is damaged."
        ) from error
    check_complete(model, str(path), report)
    remember_untrained(model, report)
    return model, with_first_token(tokenizer) if first else tokenizer


def puts_token_first(path: Path) -> bool:
    """Whether the model reads a beginning-of-text token before every text, by the file.

    If the file does not say, sentencepiece vocabularies have one and others do not, as in
    llama.cpp.
    """
    settings = gguf_settings(path)
    stated = settings.get("tokenizer.ggml.add_bos_token")
    return settings.get("tokenizer.ggml.model") == "llama" if stated is None else bool(stated)


# What a GGUF file says of itself: names and values before its tensors.
#
# The `gguf` package makes an object of every token of a vocabulary, which takes seconds; this skips
# lists.

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q"} | {
    12: "d"
}
_STRING, _ARRAY = 8, 9

Value = int | float | bool | str


def gguf_settings(path: Path) -> dict[str, Value]:
    """Every setting that is a number, a boolean or a string; lists are left out."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return _Reader(data).settings()


class _Reader:
    def __init__(self, data: mmap.mmap) -> None:
        self._data, self._at = data, 0

    def settings(self) -> dict[str, Value]:
        if self._data[:4] != b"GGUF":
            raise ValueError("it does not begin with the bytes GGUF")
        self._at = 8  # after the version
        _, count = self._take("Q"), self._take("Q")
        found: dict[str, Value] = {}
        for _ in range(int(count)):
            name, kind = self._string(), int(self._take("I"))
            value = self._value(kind)
            if value is not None:
                found[name] = value
        return found

    def _take(self, form: str) -> Value:
        (value,) = struct.unpack_from(f"<{form}", self._data, self._at)
        self._at += struct.calcsize(f"<{form}")
        return value

    def _string(self) -> str:
        size = int(self._take("Q"))
        self._at += size
        return self._data[self._at - size : self._at].decode("utf-8", "replace")

    def _value(self, kind: int) -> Value | None:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            self._pass_array()
            return None
        return self._take(_NUMBERS[kind])

    def _pass_array(self) -> None:
        kind, count = int(self._take("I")), int(self._take("Q"))
        if kind in _NUMBERS:
            self._at += count * struct.calcsize(f"<{_NUMBERS[kind]}")
            return
        for _ in range(count):
            if kind == _ARRAY:
                self._pass_array()
            else:
                (size,) = struct.unpack_from("<Q", self._data, self._at)
                self._at += 8 + size
