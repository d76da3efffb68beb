"""Who knows that no text of a batch is padded says so: masks are the same, no tensor is asked."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import headscope as hs
from headscope.capture import Call
from headscope.capture.active import known_unpadded


def seen(scope: hs.Scope, inputs: Any, known: bool) -> tuple[list[Tensor | None], Tensor]:
    """The mask every layer is given, and the last hidden states."""
    masks: list[Tensor | None] = []

    def keep(call: Call) -> None:
        masks.append(call.given_mask)

    with known_unpadded(known):
        output = scope.forward(inputs, keep, lazy=True)
    return masks, output[0]


@pytest.mark.parametrize("model", ["tiny_bert", "tiny_llama", "tiny_gemma"])
def test_masks_are_the_same_and_no_tensor_is_asked(
    model: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope: hs.Scope = request.getfixturevalue(model)
    inputs = scope.encode(["the cat sat", "the dog ran"])
    seen(scope, inputs, known=False)  # after one pass the softmax is no longer watched
    masks, hidden = seen(scope, inputs, known=False)

    def asked(mask: Tensor, *given: Any) -> Any:
        pytest.fail("a GPU would be waited for here")

    # a sliding window's mask must be made, and is asked once a pass whether it is causal
    if all(mask is None for mask in masks):
        for question in ("all", "any", "__bool__"):
            monkeypatch.setattr(torch.Tensor, question, asked)
    told, as_told = seen(scope, inputs, known=True)
    monkeypatch.undo()
    assert masks and torch.equal(hidden, as_told)
    for one, other in zip(masks, told, strict=True):
        assert (one is None) == (other is None)
        assert one is None or torch.equal(one, other)
