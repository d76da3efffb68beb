"""Whisper out of a CTranslate2 file, as packages carry it, into transformers' own class."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import torch

TYPES = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}


def variables(data: bytes) -> dict[str, torch.Tensor]:
    """name, shape, type and bytes of each variable, one after another; then names for the same."""
    at = 0

    def number(kind: str) -> int:
        nonlocal at
        (value,) = struct.unpack_from(kind, data, at)
        at += struct.calcsize(kind)
        return value

    def text() -> str:
        nonlocal at
        length = number("<H")
        at += length
        return data[at - length : at].rstrip(b"\0").decode()

    number("<I"), text(), number("<I")  # version, kind of model, revision
    found: dict[str, torch.Tensor] = {}
    for _ in range(number("<I")):
        name = text()
        shape = [number("<I") for _ in range(number("<B"))]
        kind, size = TYPES[number("<B")], number("<I")
        values = np.frombuffer(data, kind, size // np.dtype(kind).itemsize, at).reshape(shape)
        at += size
        found[name] = torch.from_numpy(values.astype(np.float32))
    for _ in range(number("<I")):
        name = text()
        found[name] = found[text()]
    return found


def _attention(own: dict[str, torch.Tensor], prefix: str, new: str, cross: bool) -> dict[str, Any]:
    """CTranslate2 keeps q, k and v of self attention in one matrix, k and v of cross attention."""
    first, out = own[f"{prefix}/linear_0/weight"], {}
    bias = own[f"{prefix}/linear_0/bias"]
    if cross:
        keys, key_bias = own[f"{prefix}/linear_1/weight"], own[f"{prefix}/linear_1/bias"]
        first, bias = torch.cat([first, keys]), torch.cat([bias, key_bias])
    for name, weight, shift in zip("qkv", first.chunk(3), bias.chunk(3), strict=True):
        out[f"{new}.{name}_proj.weight"] = weight
        if name != "k":  # Whisper's keys have no bias; the file holds zeros
            out[f"{new}.{name}_proj.bias"] = shift
    last = f"{prefix}/linear_{2 if cross else 1}"
    out[f"{new}.out_proj.weight"], out[f"{new}.out_proj.bias"] = (
        own[f"{last}/weight"],
        own[f"{last}/bias"],
    )
    return out | _norm(own, f"{prefix}/layer_norm", f"{new}_layer_norm")


def _norm(own: dict[str, torch.Tensor], prefix: str, new: str) -> dict[str, Any]:
    return {f"{new}.weight": own[f"{prefix}/gamma"], f"{new}.bias": own[f"{prefix}/beta"]}


def _linear(own: dict[str, torch.Tensor], prefix: str, new: str) -> dict[str, Any]:
    return {f"{new}.weight": own[f"{prefix}/weight"], f"{new}.bias": own[f"{prefix}/bias"]}


def state(own: dict[str, torch.Tensor], layers: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for stack in ("encoder", "decoder"):
        for number in range(layers):
            old, new = f"{stack}/layer_{number}", f"model.{stack}.layers.{number}"
            made |= _attention(own, f"{old}/self_attention", f"{new}.self_attn", cross=False)
            if stack == "decoder":
                made |= _attention(own, f"{old}/attention", f"{new}.encoder_attn", cross=True)
            made |= _linear(own, f"{old}/ffn/linear_0", f"{new}.fc1")
            made |= _linear(own, f"{old}/ffn/linear_1", f"{new}.fc2")
            made |= _norm(own, f"{old}/ffn/layer_norm", f"{new}.final_layer_norm")
        made |= _norm(own, f"{stack}/layer_norm", f"model.{stack}.layer_norm")
        positions = own[f"{stack}/position_encodings/encodings"]
        made[f"model.{stack}.embed_positions.weight"] = positions
    for number in (1, 2):
        made |= _linear(own, f"encoder/conv{number}", f"model.encoder.conv{number}")
    made["model.decoder.embed_tokens.weight"] = own["decoder/embeddings/weight"]
    return made


def whisper_base(data: bytes) -> Any:
    """The model of that file, with the sizes of Whisper base."""
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    configuration = WhisperConfig(
        d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8,
        decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048,
    )  # fmt: skip
    with torch.device("meta"):
        model = WhisperForConditionalGeneration(configuration)
    missing, unexpected = model.load_state_dict(
        state(variables(data), configuration.decoder_layers), strict=False, assign=True
    )
    assert not unexpected and set(missing) <= {"proj_out.weight"}, (missing, unexpected)
    model.tie_weights()
    return model.eval()
