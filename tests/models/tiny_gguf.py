"""A Llama small enough to write as a GGUF file in a blink."""

from __future__ import annotations

from pathlib import Path

import numpy as np

LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)]


def write_llama(path: Path, *, sentencepiece: bool, add_bos: bool | None) -> None:
    """One layer of random weights; `add_bos` None leaves the file silent about it."""
    from gguf import GGUFWriter, TokenType

    space = "▁" if sentencepiece else "Ġ"
    tokens = ["<unk>", "<s>", "</s>", space, *LETTERS, f"{space}a"]
    tokens += [] if sentencepiece else ["<|endoftext|>"]  # which GPT-2 tokenizers always have
    types = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL]
    types += [TokenType.NORMAL] * (len(tokens) - len(types))
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_feed_forward_length(32)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(8)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama" if sentencepiece else "gpt2")
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(place) for place in range(len(tokens))])
    writer.add_token_types([int(kind) for kind in types])
    if not sentencepiece:
        writer.add_token_merges([f"{space} a"])
    else:
        writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    if add_bos is not None:
        writer.add_add_bos_token(add_bos)
    random = np.random.default_rng(0)
    sizes = {
        "token_embd": (len(tokens), 32),
        "output": (len(tokens), 32),
        "blk.0.attn_q": (32, 32),
        "blk.0.attn_k": (16, 32),
        "blk.0.attn_v": (16, 32),
        "blk.0.attn_output": (32, 32),
        "blk.0.ffn_gate": (32, 32),
        "blk.0.ffn_up": (32, 32),
        "blk.0.ffn_down": (32, 32),
    }
    for name, size in sizes.items():
        writer.add_tensor(f"{name}.weight", random.normal(0, 0.3, size).astype(np.float32))
    for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(32, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
