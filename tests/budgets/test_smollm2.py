"""SmolLM2's 90 key-value heads: the budget equals a plain loop, and beats random sets."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.budgets.texts import cut_texts

SINK = 4
GPU = torch.cuda.is_available()
WINDOW, TOKENS, LIMIT = (256, 1000, 50) if GPU else (24, 96, 4)


@pytest.mark.slow
def test_all_ninety_costs_equal_a_plain_loop(smollm2_file, shared_data):
    """50 texts of 1,000 tokens on a GPU; a core takes minutes for 90 passes over four of 96."""
    smollm2 = hs.load(smollm2_file, device="cuda" if GPU else "cpu")
    corpus = shared_data / "wikitext" / "wiki.valid.raw"
    found = hs.budget(
        smollm2, corpus, sink=SINK, window=WINDOW, max_tokens=TOKENS, limit=LIMIT, needles=2,
        shares=(0.5,), draws=0, progress=False,
    )  # fmt: skip
    texts = cut_texts(smollm2, corpus, TOKENS, LIMIT)[::2]
    kept = SINK + WINDOW

    def losses(scope) -> float:
        lost = []
        for ids in texts:
            given = torch.tensor([ids], device=scope.device)
            logits = scope.forward({"input_ids": given}).logits[0, kept:-1].double()
            right = given[0, kept + 1 :]
            lost.append(-logits.log_softmax(-1).gather(-1, right[:, None])[:, 0])
        return float(torch.cat(lost).mean())

    whole = losses(smollm2)
    wanted = np.empty((30, 3))
    for layer, group in np.ndindex(30, 3):
        heads = [(layer, 3 * group + n) for n in range(3)]
        edited = smollm2.without(heads=heads, mode="streaming", weights=(SINK, WINDOW))
        wanted[layer, group] = losses(edited) - whole
    assert len(found.order) == 90
    np.testing.assert_allclose(found.map("loss_cost"), wanted, atol=1e-5)
