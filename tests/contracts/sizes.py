"""What makes a model of each sort small."""

from __future__ import annotations

from typing import Any


def usual(**more: Any) -> dict[str, Any]:
    return {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "max_position_embeddings": 64,
        **more,
    }


def grouped(**more: Any) -> dict[str, Any]:
    return usual(num_key_value_heads=2, head_dim=8, **more)


def gpt(**more: Any) -> dict[str, Any]:
    return {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, **more}


def t5(**more: Any) -> dict[str, Any]:
    return {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_heads": 4, "num_layers": 2, **more}


def two_stacks(**more: Any) -> dict[str, Any]:
    """BART and its kin: an encoder of 2 layers × 4 heads, a decoder of 3 layers × 2 heads."""
    return {
        "d_model": 32,
        "encoder_layers": 2,
        "decoder_layers": 3,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64,
        "max_position_embeddings": 64,
        **more,
    }


def picture(**more: Any) -> dict[str, Any]:
    return usual(image_size=16, patch_size=4, num_channels=3, **more)
