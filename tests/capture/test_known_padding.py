"""Who knows whether a batch is padded tells it: the masks are the same, and no tensor is asked."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import headscope as hs
from headscope.capture import Call
from headscope.capture.active import padding_known

TEXTS = {False: ["the cat sat", "the dog ran"], True: ["the cat sat on a mat", "the dog ran"]}


def seen(scope: hs.Scope, inputs: Any, padded: bool | None) -> tuple[list[Tensor | None], Tensor]:
    """The mask every layer is given, and the last hidden states."""
    masks: list[Tensor | None] = []

    def keep(call: Call) -> None:
        masks.append(call.given_mask)

    with padding_known(padded):
        output = scope.forward(inputs, keep, lazy=True)
    return masks, output[0]


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("model", ["tiny_bert", "tiny_llama", "tiny_gemma"])
def test_masks_are_the_same_and_no_tensor_is_asked(
    model: str, padded: bool, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope: hs.Scope = request.getfixturevalue(model)
    inputs = scope.encode(TEXTS[padded])
    seen(scope, inputs, None)  # after one pass the softmax is no longer watched
    masks, hidden = seen(scope, inputs, None)
    assert masks and any(mask is not None for mask in masks) >= padded

    def asked(mask: Tensor, *given: Any) -> Any:
        pytest.fail("a GPU would be waited for here")

    # one that must be made for a decoder is asked, once a pass, whether it is causal
    if not scope.causal or all(mask is None for mask in masks):
        for question in ("all", "any", "__bool__"):
            monkeypatch.setattr(torch.Tensor, question, asked)
    told, as_told = seen(scope, inputs, padded)
    monkeypatch.undo()
    assert torch.equal(hidden, as_told)
    for one, other in zip(masks, told, strict=True):
        assert (one is None) == (other is None)
        assert one is None or torch.equal(one, other)
