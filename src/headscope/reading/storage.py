"""A reading as a safetensors file: tensors by name, everything else as JSON metadata."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, cast

import numpy as np

from headscope.capture.call import Kind
from headscope.errors import BadInput
from headscope.files import atomic_path
from headscope.reading.part import LayerAttention, Part
from headscope.reading.reading import Reading
from headscope.text.tokens import Tokens

_FORMAT = 1
_ARRAYS = ("weights", "q", "k", "v", "bias", "mask", "sinks")
_NUMBERS = ("scaling", "window", "softcap")


def save(reading: Reading, path: str | os.PathLike[str]) -> None:
    from safetensors.numpy import save_file

    tensors: dict[str, Any] = {}
    parts: dict[str, Any] = {}
    for kind, part in reading.parts.items():
        layers: list[dict[str, Any]] = []
        for one in part.layers:
            for name in _ARRAYS:
                array = getattr(one, name)
                if array is not None:
                    tensors[f"{kind}.{one.layer}.{name}"] = np.ascontiguousarray(array)
            layers.append({"layer": one.layer, **{name: getattr(one, name) for name in _NUMBERS}})
        parts[kind] = {
            "query": _tokens_out(part.query),
            "key": _tokens_out(part.key),
            "layers": layers,
            "causal": part.causal,
            "rotary": part.rotary,
            "why_no_qk": part.why_no_qk,
        }
    described = {
        "format": _FORMAT,
        "model": reading.model,
        "metadata": reading.metadata,
        "parts": parts,
    }
    with atomic_path(path) as temporary:
        save_file(tensors, temporary, metadata={"headscope": json.dumps(described)})


def load(path: str | os.PathLike[str]) -> Reading:
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise BadInput(f"There is no reading {path}; check the path.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if "headscope" not in metadata:
                raise BadInput(f"{path} is a safetensors file but not a reading; save one first.")
            described = json.loads(metadata["headscope"])
            if described["format"] > _FORMAT:
                raise BadInput(f"{path} was written by a newer headscope; upgrade to open it.")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return _reading_in(described, tensors)
    except BadInput:
        raise
    except (SafetensorError, ValueError, OSError, KeyError, TypeError) as error:
        raise BadInput(f"{path} is damaged or not a reading; save it again.") from error


def _reading_in(described: dict[str, Any], tensors: dict[str, Any]) -> Reading:
    parts: dict[Kind, Part] = {}
    for name, stored in described["parts"].items():
        kind = cast("Kind", name)
        layers = tuple(
            _layer_in(numbers, tensors, f"{kind}.{numbers['layer']}")
            for numbers in stored["layers"]
        )
        parts[kind] = Part(
            kind=kind,
            query=_tokens_in(stored["query"]),
            key=_tokens_in(stored["key"]),
            layers=layers,
            causal=stored["causal"],
            rotary=stored["rotary"],
            why_no_qk=stored["why_no_qk"],
        )
    return Reading(parts, described["model"], described["metadata"])


def _layer_in(numbers: dict[str, Any], tensors: dict[str, Any], prefix: str) -> LayerAttention:
    arrays: dict[str, Any] = {name: tensors.get(f"{prefix}.{name}") for name in _ARRAYS}
    return LayerAttention(**numbers, **arrays)


def _tokens_out(tokens: Tokens) -> dict[str, Any]:
    return {
        "text": list(tokens.text),
        "labels": list(tokens.labels),
        "ids": tokens.ids.tolist(),
        "classes": tokens.classes.tolist(),
        "segments": tokens.segments.tolist(),
        "words": tokens.words.tolist(),
        "spans": tokens.spans.tolist(),
        "texts": list(tokens.texts),
        "word_texts": list(tokens.word_texts),
    }


def _tokens_in(stored: dict[str, Any]) -> Tokens:
    return Tokens(
        text=tuple(stored["text"]),
        labels=tuple(stored["labels"]),
        ids=np.array(stored["ids"], dtype=np.int64),
        classes=np.array(stored["classes"], dtype=np.int8),
        segments=np.array(stored["segments"], dtype=np.int8),
        words=np.array(stored["words"], dtype=np.int32),
        spans=np.array(stored["spans"], dtype=np.int32).reshape(-1, 2),
        texts=tuple(stored["texts"]),
        word_texts=tuple(stored["word_texts"]),
    )
