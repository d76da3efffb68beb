"""TransformerLens: its cached patterns, and its detectors of heads."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

import headscope as hs
from tests.oracles.comparison import Comparison
from tests.oracles.subjects import PROMPT, smollm2
from tests.text.tokenizers import byte_level
from tests.tiny import tiny_model

TITLE = "TransformerLens"
PACKAGES = ("transformer_lens",)
FAMILIES = {"random GPT-2": "GPT2LMHeadModel", "random Llama": "LlamaForCausalLM"}


def compare() -> Iterator[Comparison]:
    from transformer_lens.head_detector import (
        detect_head,
        get_induction_head_detection_pattern,
    )

    for name, bridge, scope in _subjects():
        ids = bridge.to_tokens(PROMPT)
        with torch.no_grad():
            _, cache = bridge.run_with_cache(ids)
        reading = scope.read_inputs({"input_ids": ids})
        ours = reading.attention.values
        theirs = torch.stack([cache["pattern", layer][0] for layer in range(len(ours))])
        yield Comparison.of(name, "attention patterns", ours, theirs.float().numpy(), 5e-6)
        scores = detect_head(bridge, PROMPT, "previous_token_head").numpy()
        previous = np.diagonal(ours, -1, 2, 3).sum(-1) / ours.shape[2]
        yield Comparison.of(name, "previous-token heads", previous, scores)
        scores = detect_head(bridge, PROMPT, "duplicate_token_head").numpy()
        ours = _share(reading, "duplicate_token")
        yield Comparison.of(name, "duplicate-token heads, pairs of `duplicate_token`", ours, scores)
        # ours leaves out the neighbour, to which a previous-token head would go as well
        pairs = get_induction_head_detection_pattern(ids.cpu()).tril(-2)
        scores = detect_head(bridge, PROMPT, pairs).numpy()
        what = "induction heads but for neighbours, pairs of `induction`"
        yield Comparison.of(name, what, _share(reading, "induction"), scores)


def _subjects() -> Iterator[tuple[str, Any, hs.Scope]]:
    from transformer_lens.model_bridge import TransformerBridge

    float32: dict[str, Any] = {"device": "cpu", "dtype": torch.float32}
    for name, architecture in FAMILIES.items():
        model = tiny_model(architecture)
        model.resize_token_embeddings(len(byte_level()))
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            byte_level().save_pretrained(folder)
            bridge = TransformerBridge.boot_transformers(folder, **float32)
        yield name, bridge, hs.load(model, byte_level())
    scope = smollm2()
    if scope is not None:
        own = copy.deepcopy(scope.model)  # the bridge changes the model it is given
        bridge = TransformerBridge.boot_transformers(
            "HuggingFaceTB/SmolLM2-135M", hf_model=own, tokenizer=scope.tokenizer, **float32
        )
        yield "SmolLM2", bridge, scope


def _share(reading: hs.Reading, name: str) -> Any:
    """layer head: how much of all attention lies on the pairs a pattern is about."""
    from headscope.patterns.explain.targets import targets_of
    from headscope.patterns.pattern import pattern_named
    from headscope.statistics.of_reading import grid_of_part

    aimed = targets_of(pattern_named(name), grid_of_part(reading.part()))
    return (reading.attention.values * aimed).sum((-1, -2)) / aimed.shape[0]
