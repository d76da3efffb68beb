"""A reading as a safetensors file: tensors by name, everything else as JSON metadata.

Tensors keep their precision. An opened file stays open, and each layer or head is read from it on
use.
"""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from headscope.capture.call import Kind
from headscope.errors import BadInput
from headscope.files import check_seal, write_tensors
from headscope.media.picture import Picture
from headscope.media.positions import Positions
from headscope.media.sound import Sound
from headscope.reading.part import Part
from headscope.reading.rotary import restored as rotary_restored
from headscope.reading.rotary import stored as rotary_stored
from headscope.reading.weights.held import Bias, InFile, Mask
from headscope.reading.weights.layer import LayerAttention
from headscope.text.chat import Span
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading.reading import Reading

_FORMAT = 2
_ARRAYS = ("weights", "q", "k", "v", "sinks")
_NUMBERS = ("scaling", "window", "softcap")


def save(reading: Reading, path: str | os.PathLike[str]) -> None:
    tensors: dict[str, Any] = {}
    parts: dict[str, Any] = {}
    for kind, part in reading.parts.items():
        shared = _Shared(tensors, kind)
        layers: list[dict[str, Any]] = []
        for one in part.layers:
            for name in _ARRAYS:
                if name in one.held:
                    tensors[f"{kind}.{one.layer}.{name}"] = one.held[name].tensor().contiguous()
            numbers = {name: getattr(one, name) for name in _NUMBERS}
            described = {"mask": shared.mask(one.mask_held), "bias": shared.bias(one.bias_held)}
            layers.append({"layer": one.layer, **numbers, **described})
        parts[kind] = {
            "query": _tokens_out(part.query),
            "key": _tokens_out(part.key),
            "layers": layers,
            "causal": part.causal,
            "rotary": rotary_stored(part.rotary),
            "why_no_qk": part.why_no_qk,
        }
    described = {
        "format": _FORMAT,
        "model": reading.model,
        "metadata": reading.metadata,
        "parts": parts,
        "media": _media_out(reading, tensors),
        "spans": [dataclasses.asdict(span) for span in reading.spans],
    }
    write_tensors(_apart(tensors), path, {"headscope": json.dumps(described)})


def _apart(tensors: dict[str, Any]) -> dict[str, Any]:
    """Copy arrays that several layers share, which safetensors refuses."""
    starts: set[int] = set()
    for name, tensor in tensors.items():
        if tensor.numel() and tensor.data_ptr() in starts:
            tensors[name] = tensor.clone()
        starts.add(tensor.data_ptr())
    return tensors


class _Shared:
    """Masks and biases that several layers have in common, written once."""

    def __init__(self, tensors: dict[str, Any], kind: Kind) -> None:
        self._tensors, self._kind = tensors, kind
        self._names: dict[int, str] = {}

    def _name(self, of: object, tensor: Any, role: str) -> str:
        if id(of) not in self._names:
            self._names[id(of)] = f"{self._kind}.{role}.{len(self._names)}"
            self._tensors[self._names[id(of)]] = tensor.contiguous()
        return self._names[id(of)]

    def mask(self, mask: Mask | None) -> dict[str, Any] | None:
        if mask is None:
            return None
        return mask.described() or {"tensor": self._name(mask, mask.bits, "mask")}

    def bias(self, bias: Bias | None) -> dict[str, Any] | None:
        if bias is None:
            return None
        return {"tensor": self._name(bias, bias.values, "bias"), "queries": bias.queries}


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """A file's contents by the names of a reading's fields."""
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise BadInput(f"There is no reading {path}; check the path.")
    try:
        file: Any = safe_open(path, framework="pt")
        metadata = file.metadata() or {}
        if "headscope" not in metadata:
            raise BadInput(f"{path} is a safetensors file but not a reading; save one first.")
        described = json.loads(metadata["headscope"])
        if described["format"] > _FORMAT:
            raise BadInput(f"{path} was written by a newer headscope; upgrade to open it.")
        check_seal(Path(path))
        fields = _fields_in(described, _File(file)) | _media_in(described, file)
        fields["parts"] = {
            kind: _with_positions(part, file) for kind, part in fields["parts"].items()
        }
        for kind, part in fields["parts"].items():
            if (fault := fault_of(part)) is not None:
                raise BadInput(f"{path} is inconsistent ({kind}: {fault}); save it again.")
        return fields
    except BadInput:
        raise
    except (SafetensorError, ValueError, OSError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{path} is damaged or not a reading; save it again.") from error


class _File:
    """An open file's contents by name; masks and biases are read once for all layers."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.names = frozenset(file.keys())
        self._masks: dict[str, Mask] = {}
        self._biases: dict[str, Bias] = {}

    def array(self, name: str) -> InFile | None:
        return InFile(self.file, name) if name in self.names else None

    def mask(self, described: dict[str, Any] | None) -> Mask | None:
        if described is None:
            return None
        if "tensor" not in described:
            queries, keys = described["shape"]
            return Mask((queries, keys), described["window"], described["causal"])
        name = described["tensor"]
        if name not in self._masks:
            bits = self.file.get_tensor(name)
            self._masks[name] = Mask(tuple(bits.shape), bits=bits)
        return self._masks[name]

    def bias(self, described: dict[str, Any] | None) -> Bias | None:
        if described is None:
            return None
        name = described["tensor"]
        if name not in self._biases:
            self._biases[name] = Bias(self.file.get_tensor(name), described["queries"])
        return self._biases[name]


def _fields_in(described: dict[str, Any], file: _File) -> dict[str, Any]:
    parts: dict[Kind, Part] = {}
    for name, stored in described["parts"].items():
        kind = cast("Kind", name)
        layers = tuple(
            _layer_in(numbers, file, f"{kind}.{numbers['layer']}") for numbers in stored["layers"]
        )
        parts[kind] = Part(
            kind=kind,
            query=_tokens_in(stored["query"]),
            key=_tokens_in(stored["key"]),
            layers=layers,
            causal=stored["causal"],
            rotary=rotary_restored(stored["rotary"]),
            why_no_qk=stored["why_no_qk"],
        )
    return {
        "parts": parts,
        "model": described["model"],
        "metadata": described["metadata"],
        "spans": tuple(Span(**span) for span in described.get("spans", ())),
    }


def _layer_in(numbers: dict[str, Any], file: _File, prefix: str) -> LayerAttention:
    arrays: dict[str, Any] = {name: file.array(f"{prefix}.{name}") for name in _ARRAYS}
    shapes = {"mask": file.mask(numbers["mask"]), "bias": file.bias(numbers["bias"])}
    return LayerAttention(**{**numbers, **shapes}, **arrays)


def _tokens_out(tokens: Tokens) -> dict[str, Any]:
    return {
        "text": list(tokens.spellings),
        "labels": list(tokens.labels),
        "ids": tokens.ids.tolist(),
        "classes": tokens.classes.tolist(),
        "segments": tokens.segments.tolist(),
        "words": tokens.word_ids.tolist(),
        "spans": tokens.spans.tolist(),
        "texts": list(tokens.texts),
        "word_texts": list(tokens.word_texts),
    }


def _tokens_in(stored: dict[str, Any]) -> Tokens:
    return Tokens(
        spellings=tuple(stored["text"]),
        labels=tuple(stored["labels"]),
        ids=np.array(stored["ids"], dtype=np.int64),
        classes=np.array(stored["classes"], dtype=np.int8),
        segments=np.array(stored["segments"], dtype=np.int8),
        word_ids=np.array(stored["words"], dtype=np.int32),
        spans=np.array(stored["spans"], dtype=np.int32).reshape(-1, 2),
        texts=tuple(stored["texts"]),
        word_texts=tuple(stored["word_texts"]),
    )


# Whether the parts of a reading fit together: a file may come from anywhere.

_PER_TOKEN = ("spellings", "labels", "ids", "classes", "segments", "word_ids", "spans")


def fault_of(part: Part) -> str | None:
    """What does not fit, in a few words; None if everything fits."""
    for side, tokens in (("query", part.query), ("key", part.key)):
        if wrong := _of_tokens(tokens):
            return f"the {side} tokens have {wrong}"
    if len(set(part.numbers)) != len(part.numbers):
        return "a layer is there twice"
    for layer in part.layers:
        if wrong := _of_layer(layer, len(part.query), len(part.key)):
            return f"layer {layer.layer} has {wrong}"
    return None


def _of_tokens(tokens: Tokens) -> str | None:
    sizes = {name: len(getattr(tokens, name)) for name in _PER_TOKEN}
    if len(set(sizes.values())) != 1:
        return (
            f"{sizes['spellings']} spellings and {sizes['ids']} ids, and as many of all are needed"
        )
    inside = (
        tokens.word_ids < len(tokens.word_texts) if tokens.word_texts else tokens.word_ids >= -1
    )
    if not bool(inside.all()):
        return "a word that is not among the words"
    return None


def _of_layer(layer: LayerAttention, queries: int, keys: int) -> str | None:
    if layer.layer < 0:
        return "a negative number"
    shapes = {name: held.shape for name, held in layer.held.items()}
    wanted = {"weights": (queries, keys), "q": (queries,), "k": (keys,), "v": (keys,)}
    for name, sizes in wanted.items():
        if name in shapes and (len(shapes[name]) != 3 or shapes[name][1 : 1 + len(sizes)] != sizes):
            return f"{name} of shape {shapes[name]}, for {queries} queries and {keys} keys"
    heads = {shapes[name][0] for name in ("weights", "q") if name in shapes}
    if len(heads) > 1:
        return f"weights and q of {' and '.join(map(str, sorted(heads)))} heads"
    groups = {shapes[name][0] for name in ("k", "v") if name in shapes}
    if any(not group or head % group for head in heads for group in groups):
        return f"{heads.pop()} heads, which do not divide into the groups of its keys"
    return None


# Pictures, sounds and positions in them as tensors of a reading's file.

_FIELDS = tuple(field.name for field in dataclasses.fields(Positions))


def _media_out(reading: Reading, tensors: dict[str, Any]) -> dict[str, Any]:
    """Add pictures and sounds to the tensors; returns the metadata's part."""
    import torch

    for number, picture in enumerate(reading.pictures):
        tensors[f"picture.{number}"] = torch.from_numpy(picture.pixels.copy())
    if reading.sound is not None:
        tensors["sound"] = torch.from_numpy(reading.sound.samples.copy())
    for part in reading.parts.values():
        for side, tokens in (("query", part.query), ("key", part.key)):
            for name in _FIELDS if tokens.positions is not None else ():
                values = np.ascontiguousarray(getattr(tokens.positions, name))
                tensors[f"{part.kind}.{side}.{name}"] = torch.from_numpy(values.copy())
    sound = reading.sound
    return {
        "pictures": [picture.name for picture in reading.pictures],
        "sound": None if sound is None else {"rate": sound.rate, "name": sound.name},
    }


def _media_in(described: dict[str, Any], file: Any) -> dict[str, Any]:
    media: dict[str, Any] = described.get("media") or {"pictures": [], "sound": None}
    pictures = tuple(
        Picture(file.get_tensor(f"picture.{number}").numpy(), name)
        for number, name in enumerate(media["pictures"])
    )
    sound = media["sound"]
    heard = None if sound is None else Sound(file.get_tensor("sound").numpy(), **sound)
    return {"pictures": pictures, "sound": heard}


def _with_positions(part: Part, file: Any) -> Part:
    names = frozenset(file.keys())

    def positioned(side: str, tokens: Tokens) -> Tokens:
        if f"{part.kind}.{side}.kinds" not in names:
            return tokens
        arrays = {name: file.get_tensor(f"{part.kind}.{side}.{name}").numpy() for name in _FIELDS}
        return dataclasses.replace(tokens, positions=Positions(**arrays))

    query, key = positioned("query", part.query), positioned("key", part.key)
    if query is part.query and key is part.key:
        return part
    return dataclasses.replace(part, query=query, key=key)
