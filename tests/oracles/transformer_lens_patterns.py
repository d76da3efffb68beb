"""TransformerLens: its cached patterns, and its detector of previous-token heads."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import headscope as hs
from tests.oracles.comparison import Comparison
from tests.oracles.subjects import PROMPT
from tests.text.tokenizers import byte_level
from tests.tiny import tiny_model

TITLE = "TransformerLens"
PACKAGES = ("transformer_lens",)
FAMILIES = {"random GPT-2": "GPT2LMHeadModel", "random Llama": "LlamaForCausalLM"}


def compare() -> Iterator[Comparison]:
    import numpy as np
    import torch
    from transformer_lens.head_detector import detect_head
    from transformer_lens.model_bridge import TransformerBridge

    for name, architecture in FAMILIES.items():
        model = tiny_model(architecture)
        model.resize_token_embeddings(len(byte_level()))
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            byte_level().save_pretrained(folder)
            bridge = TransformerBridge.boot_transformers(folder, device="cpu", dtype=torch.float32)
        ids = bridge.to_tokens(PROMPT)
        with torch.no_grad():
            _, cache = bridge.run_with_cache(ids)
        reading = hs.load(model, byte_level()).read_inputs({"input_ids": ids})
        theirs = torch.stack([cache["pattern", layer][0] for layer in range(2)]).float().numpy()
        ours = reading.attention.values
        yield Comparison.of(name, "attention patterns", ours, theirs, 5e-6)
        scores = detect_head(bridge, PROMPT, "previous_token_head").numpy()
        previous = np.diagonal(ours, -1, 2, 3).sum(-1) / ours.shape[2]
        yield Comparison.of(name, "previous-token heads", previous, scores)
        yield Comparison.of(
            name, "`previous` of the head map", _measure(reading, "previous"), scores
        )


def _measure(reading: hs.Reading, name: str):
    from headscope.views.numbers.table import table_of

    return table_of(reading).columns[name]
