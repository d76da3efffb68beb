"""A head file restricts the same heads in kvpress: the loss of one text is ours.

kvpress restricts heads once a prompt is read, and their window stands still from then on. So every
token of the text is read behind the prompt that ends before it, by kvpress and by us.
`make test-kvpress` installs kvpress for it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.budgets.exports import press as press_for
from headscope.budgets.heads import KeyValueHeads, key_value_heads
from tests.budgets.test_budget import CORPUS, SETTINGS, SINK, WINDOW
from tests.tiny import tiny_scope

kvpress = pytest.importorskip("kvpress")
Read = Callable[..., Any]


def test_a_press_from_the_head_file_reproduces_the_loss(tmp_path):
    scope = tiny_scope("LlamaForCausalLM", num_key_value_heads=2)
    found = hs.budget(scope, CORPUS, tolerance=10.0, **{**SETTINGS, "shares": (0.5,)})
    found.to_json(tmp_path / "heads.json")
    press = hs.press_of(tmp_path / "heads.json")
    ids = torch.tensor([scope.tokenizer(CORPUS[5])["input_ids"][:60]])
    ours, theirs, whole = losses(scope, found.restrict(scope), press, ids, SINK + WINDOW)
    assert theirs == pytest.approx(ours, abs=1e-4)
    assert np.abs(ours - whole).max() > 1e-3 and len(found.recommended) == 2
    assert (press.sink_size, press.recent_size) == (SINK, WINDOW - 1)


@pytest.mark.slow
def test_half_of_smollm2s_heads_give_the_same_loss_in_kvpress(smollm2: hs.Scope):
    sink, window = 4, 12
    text = "The lighthouse on the northern cape was built in 1871 by a shipwright from the town. "
    text += "He had lost two boats on the rocks below it. Every night his daughter climbed the "
    text += (
        "stairs, lit the lamp, and wrote the names of passing ships in a book. The book is lost."
    )
    ids = smollm2.encode([text]).inputs["input_ids"]
    known: KeyValueHeads = key_value_heads(smollm2, {"input_ids": ids})
    drawn = np.random.default_rng(0).choice(len(known.every), len(known.every) // 2, replace=False)
    heads = [known.every[at] for at in drawn]
    restricted = smollm2.edited(known.edit(heads, sink, window))
    press = press_for(known, heads, sink, window)
    ours, theirs, whole = losses(smollm2, restricted, press, ids, sink + window)
    print(
        f"\n{len(ours)} tokens, {len(heads)} of {len(known.every)} heads restricted: "
        f"{whole.mean():.4f} nats whole, {ours.mean():.4f} ours, {theirs.mean():.4f} kvpress "
        f"{version('kvpress')}, most apart {np.abs(ours - theirs).max():.1e}"
    )
    assert theirs == pytest.approx(ours, abs=1e-4)
    assert np.abs(ours - whole).max() > 0.1


def losses(
    scope: hs.Scope, restricted: hs.Scope, press: Any, ids: torch.Tensor, kept: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The loss of each token that something can change: ours, kvpress's, and the whole model's."""

    def pressed(start: int, stop: int, **cache: Any) -> Any:
        # later transformers do not hand positions on, and kvpress asks for them
        at = torch.arange(start, stop)
        with torch.no_grad():
            return scope.model(ids[:, start:stop], use_cache=True, cache_position=at, **cache)

    def of(scope: hs.Scope) -> Read:
        return lambda start, stop, **cache: scope.forward(
            {"input_ids": ids[:, start:stop]}, use_cache=True, **cache
        )

    found: list[tuple[float, float, float]] = []
    for cut in range(kept + 1, ids.shape[1] - 1):
        ours, whole = (loss(of(scope), of(one), ids, cut) for one in (restricted, scope))
        with press(scope.model):
            found.append((ours, loss(pressed, pressed, ids, cut), whole))
    ours, theirs, whole = np.array(found).T
    return ours, theirs, whole


def loss(prompt: Read, following: Read, ids: torch.Tensor, cut: int) -> float:
    """Of the token behind the one at `cut`, which is read on the prompt's cache."""
    cache = prompt(0, cut).past_key_values
    output = following(cut, cut + 1, past_key_values=cache)
    return -float(output.logits[0, -1].double().log_softmax(-1)[ids[0, cut + 1]])
