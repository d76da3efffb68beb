"""Identity: what decides a run's result, so that one run goes on only where it is the same.

A model is known by its weights, its configuration and its tokenizer, never by the name of the
folder it was saved in: `runA/checkpoint-500` and `runB/checkpoint-500` are two models.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from headscope.runs.offloaded_weights import fetched
from headscope.runs.quantised_parts import quantised_parts

if TYPE_CHECKING:
    from torch import Tensor, nn

# of a configuration: where a model lies and what saved it say nothing of what it computes
INCIDENTAL = ("_name_or_path", "name_or_path", "transformers_version")


class ScopeLike(Protocol):
    """What of a scope decides its attention."""

    @property
    def model(self) -> Any: ...
    @property
    def tokenizer(self) -> Any: ...
    @property
    def edits(self) -> tuple[Any, ...]: ...


class Fingerprint:
    """A running digest of texts, to be asked at any moment."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def add(self, *parts: str | bytes | None) -> None:
        """One item; its parts are told apart from each other and from the next item."""
        for part in parts:
            data = part if isinstance(part, bytes) else _bytes(part)
            self._digest.update(len(data).to_bytes(8, "little") + data)
        self._digest.update(b"\x01")

    @property
    def value(self) -> str:
        return self._digest.copy().hexdigest()[:32]


def fingerprint(items: Iterable[object]) -> str:
    """Of data that is read more than once: texts, sentences, anything with a faithful repr."""
    digest = Fingerprint()
    for item in items:
        digest.add(item if isinstance(item, (str, bytes)) else repr(item))
    return digest.value


def data_identity(data: object) -> object:
    """What tells data from other data: the content of a list, every file's size and time."""
    if isinstance(data, (list, tuple)):
        return fingerprint(data)  # pyright: ignore[reportUnknownArgumentType]
    if not isinstance(data, (str, Path)) or not Path(data).exists():
        return data if data is None or isinstance(data, str) else type(data).__name__
    path = Path(data)
    return [
        [str(file.relative_to(path)), file.stat().st_size, file.stat().st_mtime_ns]
        for file in (sorted(path.rglob("*")) if path.is_dir() else [path])
        if file.is_file()
    ]


def scope_identity(scope: ScopeLike) -> dict[str, Any]:
    """The model, its tokenizer and the edits under which it runs."""
    return {
        "model": model_fingerprint(scope.model),
        "tokenizer": tokenizer_fingerprint(scope.tokenizer),
        "edits": [describe(edit) for edit in scope.edits],
    }


def model_fingerprint(model: nn.Module) -> str:
    """Names, shapes, types and all values of the parameters and buffers, and the configuration.

    A checksum of each tensor runs at several gigabytes a second: a fraction of opening the model.
    """
    digest = hashlib.sha256()
    for named in (model.named_parameters(), model.named_buffers()):
        for name, tensor in named:
            quantised = quantised_parts(model, name, tensor)
            if quantised is None:
                here = fetched(model, name, tensor)
                of = f"{tuple(here.shape)}{here.dtype}{_checksum(here)}"
            else:
                of = " ".join(f"{tuple(one.shape)}{_checksum(one)}" for one in quantised)
            digest.update(f"{name}{of}".encode())
    for name, module in model.named_modules():
        if callable(getattr(module, "weight", None)):  # torch's own quantised layers hide theirs
            made: Any = module.weight
            digest.update(f"{name}{_checksum(made().dequantize())}".encode())
    configuration: Any = getattr(model, "config", None)
    if configuration is not None and hasattr(configuration, "to_dict"):
        settings = {k: v for k, v in configuration.to_dict().items() if k not in INCIDENTAL}
        digest.update(json.dumps(settings, sort_keys=True, default=str).encode())
    return digest.hexdigest()[:32]


def tokenizer_fingerprint(tokenizer: Any) -> str:
    """The rules and the vocabulary; how texts were last cut and padded is no part of them."""
    if tokenizer is None:
        return ""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None and hasattr(backend, "to_str"):
        rules: Any = json.loads(backend.to_str())
        rules.pop("truncation", None)
        rules.pop("padding", None)
    else:
        rules = [type(tokenizer).__name__, dict(getattr(tokenizer, "get_vocab", dict)())]
    return hashlib.sha256(json.dumps(rules, sort_keys=True).encode()).hexdigest()[:32]


def describe(value: Any) -> Any:
    """A value as JSON that differs whenever the value does; arrays stand as their checksum."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: describe(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"type": type(value).__qualname__, **fields}
    if isinstance(value, Mapping):
        return {str(key): describe(one) for key, one in value.items()}  # pyright: ignore
    if isinstance(value, (list, tuple)):
        return [describe(one) for one in value]  # pyright: ignore
    if isinstance(value, (set, frozenset)):
        return sorted(json.dumps(describe(one)) for one in value)  # pyright: ignore
    array: Any = value
    if hasattr(array, "shape") and hasattr(array, "dtype"):
        return [str(tuple(array.shape)), str(array.dtype), _checksum(array)]
    return repr(array)


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Which entries of two identities are not the same."""
    return [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]


def _checksum(tensor: Tensor | Any) -> str:
    """All values of a tensor or array as one number."""
    import numpy as np
    import torch

    if isinstance(tensor, torch.Tensor):
        if tensor.is_meta:
            return "nothing"
        flat = tensor.detach().contiguous().cpu()
        array = flat.reshape(-1).view(torch.uint8).numpy()
    else:
        array = np.ascontiguousarray(tensor).reshape(-1).view(np.uint8)
    return f"{zlib.crc32(memoryview(array)):08x}"  # pyright: ignore[reportArgumentType]


def _bytes(text: str | None) -> bytes:
    return b"" if text is None else text.encode("utf-8", "surrogatepass")
