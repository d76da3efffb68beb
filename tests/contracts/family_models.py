"""The models of the architecture matrix, their inputs, and their own `output_attentions`."""

from __future__ import annotations

import copy
from typing import Any

import torch
import transformers
from torch import Tensor

from tests.contracts.families import Family
from tests.tiny import VOCABULARY, spread


def build(family: Family, attn_implementation: str | None = None) -> Any:
    """The tiny random model; the same weights every time."""
    kind = getattr(transformers, family.architecture)
    options = {"attn_implementation": attn_implementation} if attn_implementation else {}
    configuration = kind.config_class(
        vocab_size=VOCABULARY,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=0,
        **copy.deepcopy(family.sizes),
    )
    torch.manual_seed(0)
    model = kind._from_config(configuration, **options).eval()
    spread(model)
    return model


def inputs(family: Family) -> dict[str, Tensor]:
    """Two inputs, the second shorter and padded wherever the family knows padding."""
    torch.manual_seed(1)
    if family.reads == "picture":
        return {"pixel_values": torch.randn(2, 3, 16, 16)}
    if family.reads == "waveform":
        mask = torch.ones(2, 120, dtype=torch.long)
        mask[1, 80:] = 0
        return {"input_values": torch.randn(2, 120) * mask, "attention_mask": mask}
    if family.reads == "sound":
        return {"input_features": torch.randn(2, 8, 20), **_padded("decoder_", 7)}
    given = _padded("", family.length)
    if family.reads == "text to text":
        given |= _padded("decoder_", 7)
    if family.own_form == "band":
        given["global_attention_mask"] = _first_token(given["input_ids"])
    return given


def _first_token(ids: Tensor) -> Tensor:
    marks = torch.zeros_like(ids)
    marks[:, 0] = 1
    marks[0, 3] = 1
    return marks


def _padded(prefix: str, length: int) -> dict[str, Tensor]:
    ids = torch.randint(5, VOCABULARY, (2, length))
    mask = torch.ones_like(ids)
    shorter = length - max(3, length // 8)
    ids[1, shorter:] = 0
    mask[1, shorter:] = 0
    return {f"{prefix}input_ids": ids, f"{prefix}attention_mask": mask}


def own_attentions(family: Family, output: Any) -> dict[str, list[Tensor]]:
    """The model's `output_attentions` by where they come from, each b h t s."""
    found: dict[str, list[Tensor]] = {}
    for name in ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions"):
        layers = output.get(name)
        if layers:
            found[name] = [_dense(family, name, output, place) for place in range(len(layers))]
    if len(found) > 1:
        found.pop("attentions", None)
    return found


def _dense(family: Family, name: str, output: Any, place: int) -> Tensor:
    layer: Tensor = output[name][place]
    if family.own_form == "scores" and name != "decoder_attentions":
        return layer.softmax(-1)
    if family.own_form == "band" and name in ("attentions", "encoder_attentions"):
        everywhere = output.get("global_attentions") or output.get("encoder_global_attentions")
        return _unrolled(layer, everywhere[place], _first_token(inputs(family)["input_ids"]))
    return layer


def _unrolled(band: Tensor, everywhere: Tensor, is_global: Tensor) -> Tensor:
    """Longformer's own form (b h t g+2w+1, and b h s g for global queries), cell by cell."""
    batch, heads, queries, columns = band.shape
    most = everywhere.shape[-1]
    reach = (columns - most - 1) // 2
    weights = torch.zeros(batch, heads, queries, queries)
    for row in range(batch):
        marked = is_global[row].nonzero().flatten().tolist()
        for query in range(queries):
            for column in range(columns - most):
                key = query + column - reach
                if 0 <= key < queries:
                    weights[row, :, query, key] += band[row, :, query, most + column]
            for number, key in enumerate(marked):
                weights[row, :, query, key] += band[row, :, query, number]
        for number, query in enumerate(marked):
            weights[row, :, query] = everywhere[row, :, :queries, number]
    return weights
