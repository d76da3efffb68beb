"""A head file restricts the same heads in kvpress: the loss of one text is ours."""

from __future__ import annotations

import pytest
import torch

import headscope as hs
from tests.budgets.test_budget import CORPUS, SETTINGS, SINK, WINDOW
from tests.tiny import tiny_scope

kvpress = pytest.importorskip("kvpress")


def test_a_press_from_the_head_file_reproduces_the_loss(tmp_path):
    """kvpress restricts heads once a prompt is read, so each next token is read behind a prompt."""
    scope = tiny_scope("LlamaForCausalLM", num_key_value_heads=2)
    found = hs.budget(scope, CORPUS, tolerance=10.0, **{**SETTINGS, "shares": (0.5,)})
    found.to_json(tmp_path / "heads.json")
    press = hs.press_of(tmp_path / "heads.json")
    ids = torch.tensor([scope.tokenizer(CORPUS[5])["input_ids"][:60]])
    restricted = found.restrict(scope)
    ours, theirs, whole = [], [], []
    for cut in (30, 40, 50):
        begun = scope.forward({"input_ids": ids[:, :cut]}, use_cache=True)
        after = restricted.forward(
            {"input_ids": ids[:, cut : cut + 1]}, past_key_values=begun.past_key_values
        )
        ours.append(_loss(after, ids, cut))
        whole.append(_loss(scope.forward({"input_ids": ids[:, : cut + 1]}), ids, cut))
        with torch.no_grad(), press(scope.model):
            # later transformers do not hand positions on, and kvpress asks for them
            begun = scope.model(ids[:, :cut], use_cache=True, cache_position=torch.arange(cut))
            after = scope.model(
                ids[:, cut : cut + 1],
                past_key_values=begun.past_key_values,
                use_cache=True,
                cache_position=torch.tensor([cut]),
            )
        theirs.append(_loss(after, ids, cut))
    assert theirs == pytest.approx(ours, abs=1e-4)
    assert theirs != pytest.approx(whole, abs=1e-3) and len(found.recommended) == 2
    assert (press.sink_size, press.recent_size) == (SINK, WINDOW - 1)


def _loss(output, ids: torch.Tensor, cut: int) -> float:
    return -float(output.logits[0, -1].log_softmax(-1)[ids[0, cut + 1]])
