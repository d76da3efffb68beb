"""SmolLM2's 90 key-value heads: the budget equals a plain loop, and beats random sets."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.budgets.texts import cut_texts

SINK, WINDOW, TOKENS = 4, 24, 96


@pytest.mark.slow
def test_all_ninety_costs_equal_a_plain_loop(smollm2, shared_data):
    """Texts of 96 tokens: one core takes minutes for 90 whole passes over each."""
    corpus = shared_data / "wikitext" / "wiki.valid.raw"
    found = hs.budget(
        smollm2, corpus, sink=SINK, window=WINDOW, max_tokens=TOKENS, limit=4, needles=2,
        shares=(0.5,), draws=0, progress=False,
    )  # fmt: skip
    texts = cut_texts(smollm2, corpus, TOKENS, 4)[::2]
    kept = SINK + WINDOW

    def losses(scope) -> float:
        lost = []
        for ids in texts:
            given = torch.tensor([ids])
            logits = scope.forward({"input_ids": given}).logits[0, kept:-1].double()
            right = given[0, kept + 1 :]
            lost.append(-logits.log_softmax(-1)[torch.arange(len(right)), right])
        return float(torch.cat(lost).mean())

    whole = losses(smollm2)
    wanted = np.empty((30, 3))
    for layer, group in np.ndindex(30, 3):
        heads = [(layer, 3 * group + n) for n in range(3)]
        edited = smollm2.without(heads=heads, mode="streaming", weights=(SINK, WINDOW))
        wanted[layer, group] = losses(edited) - whole
    assert len(found.order) == 90
    np.testing.assert_allclose(found.map("loss_cost"), wanted, atol=1e-5)
