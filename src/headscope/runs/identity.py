"""Identity: what decides a run's result; a run resumes only with the same identity.

A model is identified by its weights, configuration and tokenizer, not by its folder's name:
`runA/checkpoint-500` and `runB/checkpoint-500` are two models.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from torch import Tensor, nn

# of a configuration: a model's path and the version that saved it do not change its results
INCIDENTAL = ("_name_or_path", "name_or_path", "transformers_version")


class ScopeLike(Protocol):
    """The attributes of a scope that decide its attention."""

    @property
    def model(self) -> Any: ...
    @property
    def tokenizer(self) -> Any: ...
    @property
    def edits(self) -> tuple[Any, ...]: ...


class Fingerprint:
    """A running digest of texts."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def add(self, *parts: str | bytes | None) -> None:
        """Add one item; its parts are separated from each other and from the next item."""
        for part in parts:
            data = part if isinstance(part, bytes) else _bytes(part)
            self._digest.update(len(data).to_bytes(8, "little") + data)
        self._digest.update(b"\x01")

    @property
    def value(self) -> str:
        return self._digest.copy().hexdigest()[:32]


def fingerprint(items: Iterable[object]) -> str:
    """The digest of the contents of texts, arrays, rows and dataclasses, in order."""
    digest = Fingerprint()
    for item in items:
        digest.add(item if isinstance(item, (str, bytes)) else json.dumps(describe(item)))
    return digest.value


def scope_identity(scope: ScopeLike) -> dict[str, Any]:
    """The identity of a model, its tokenizer and its edits."""
    return {
        "model": model_fingerprint(scope.model),
        "tokenizer": tokenizer_fingerprint(scope.tokenizer),
        "edits": [describe(edit) for edit in scope.edits],
    }


def model_fingerprint(model: nn.Module) -> str:
    """A digest of the parameters and buffers (names, shapes, types, values) and the configuration.

    A checksum of each tensor runs at several gigabytes a second: a fraction of opening the model.
    """
    digest = hashlib.sha256()
    for named in (model.named_parameters(), model.named_buffers()):
        for name, tensor in named:
            quantised = _quantised_parts(model, name, tensor)
            if quantised is None:
                here = _fetched(model, name, tensor)
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


def _quantised_parts(model: nn.Module, name: str, weight: Tensor) -> list[Tensor] | None:
    """The plain tensors of a quantised parameter, its small numbers and their scales, some of which
    are neither parameters nor buffers of the model; None for a plain parameter."""
    flatten: Any = getattr(weight, "__tensor_flatten__", None)  # torchao, quanto
    if flatten is not None:
        return [
            part
            for inner in flatten()[0]
            for own in (getattr(weight, inner),)
            for part in _quantised_parts(model, name, own) or [own]
        ]
    state: Any = getattr(weight, "quant_state", None)
    if state is not None:
        return _four_bits(model, name, weight, state)
    if type(weight).__name__ == "Int8Params":
        module: Any = model.get_submodule(name.rpartition(".")[0])
        scales: Any = getattr(weight, "SCB", None)  # the layer moves them on its first run
        return [weight.data, module.state.SCB if scales is None else scales]
    return None


def _four_bits(model: nn.Module, name: str, weight: Tensor, state: Any) -> list[Tensor]:
    """bitsandbytes' bytes and scales, equal before and after a processor packs them.

    Packing rounds the scales to bfloat16 and reorders both.
    """
    import torch

    scales: Any = state.absmax
    if getattr(state, "packing_format_for_cpu", False):
        layer = copy.deepcopy(model.get_submodule(name.rpartition(".")[0]))
        own: Any = layer.state_dict()[name.rpartition(".")[2]]  # saving unpacks it
        return [own.reshape(-1), scales.T.reshape(-1)]
    if state.nested:
        from bitsandbytes.functional import dequantize_blockwise  # pyright: ignore

        scales = dequantize_blockwise(scales, state.state2) + state.offset
    return [weight.data.reshape(-1), scales.reshape(-1).to(torch.bfloat16)]


def _fetched(model: nn.Module, name: str, weight: Tensor) -> Tensor:
    """The values of a parameter, even if accelerate offloads them between passes."""
    if not weight.is_meta:
        return weight
    holder, _, own_name = name.rpartition(".")
    hook: Any = getattr(model.get_submodule(holder), "_hf_hook", None)
    for one in getattr(hook, "hooks", (hook,)):
        try:
            return one.weights_map[own_name]
        except (AttributeError, KeyError, TypeError):
            continue  # another kind of hook, or one for other weights
    return weight


def tokenizer_fingerprint(tokenizer: Any) -> str:
    """A digest of the rules and the vocabulary, without the last truncation and padding."""
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
    """A value as JSON that differs if the value does; arrays are replaced by their checksum."""
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
    if hasattr(array, "columns") and hasattr(array, "to_numpy"):  # a data frame
        return [describe(list(array.columns)), describe(array.to_numpy())]
    if hasattr(array, "shape") and hasattr(array, "dtype"):
        if hasattr(array, "to_numpy"):
            array = array.to_numpy()
        if getattr(array.dtype, "hasobject", False):  # words, whose bytes are addresses
            return describe(array.tolist())
        return [str(tuple(array.shape)), str(array.dtype), _checksum(array)]
    return repr(array)


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Which entries of two identities differ."""
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
