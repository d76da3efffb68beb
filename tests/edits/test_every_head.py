"""Every head of every family: a sweep's answer is that of the model with that head disabled."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import headscope as hs
from headscope.capture import Call
from headscope.capture.stack import find_stack
from headscope.circuits.patching.result import Patching
from headscope.edits.modes import mode
from headscope.edits.sweep.sweep import Sweep, can_be_swept
from tests.contracts.families import FAMILIES, Family
from tests.contracts.family_models import build, inputs
from tests.contracts.sizes import grouped
from tests.tiny import tiny_scope, tiny_tokenizer

DIFF_LLAMA = Family(
    "DiffLlama", "DiffLlamaForCausalLM", grouped(), "one softmax, two sets of values"
)


def first(output: Any, copies: int) -> Tensor:
    """c·b o: the model's first output, whatever it is called."""
    found = next(
        value for value in output.values() if isinstance(value, Tensor) and value.dim() > 1
    )
    return found.float().flatten(1)


@pytest.mark.parametrize("family", (*FAMILIES, DIFF_LLAMA), ids=lambda family: family.name)
def test_a_sweep_disables_each_head_as_without_does(family: Family) -> None:
    scope = hs.load(build(family), tiny_tokenizer() if family.reads.startswith("text") else None)
    given = inputs(family)
    calls: list[Call] = []
    scope.forward(given, calls.append)
    kind = "encoder" if "encoder" in {call.kind for call in calls} else calls[0].kind
    stack = find_stack(scope.model, kind, calls)
    if stack is None:
        pytest.skip("runs whole: there is nothing to cut")
    heads = {call.layer: call.heads for call in calls if call.kind == kind}
    real = given["attention_mask"].bool() if "attention_mask" in given else None
    if not can_be_swept(scope, stack):
        pytest.skip("runs whole: it cannot be run from the middle")
    own = {
        (layer, head): first(
            scope.without([(layer, head)], mode="zero", kind=kind).forward(given), 1
        )
        for layer, count in heads.items()
        for head in range(count)
    }
    with Sweep(scope, stack, given, first, mode("zero")) as sweep:
        for layer, count in heads.items():
            made = sweep.answers(layer, [(head,) for head in range(count)], 2)
            for head in range(count):
                _same(made[head], own[layer, head], real)


def _same(made: Tensor, own: Tensor, real: Tensor | None) -> None:
    if real is not None and own.shape[1] % real.shape[1] == 0:  # padded positions mean nothing
        made, own = (one.reshape(*real.shape, -1)[real] for one in (made, own))
    torch.testing.assert_close(made, own, rtol=1e-4, atol=2e-5)


def test_weights_of_diff_llama_are_patched_in_both_of_its_halves() -> None:
    """By hand: the clean prompt's weights given to one head of the corrupted run."""
    scope = tiny_scope("DiffLlamaForCausalLM", num_key_value_heads=2, head_dim=8)
    clean, corrupted = "the cat sat on the red", "the dog ran on the red"
    found: Patching = hs.circuits.patch(scope, clean, corrupted, ("house", "tree"), what="weights")
    house, tree = (scope.tokenizer.convert_tokens_to_ids(word) for word in ("house", "tree"))

    def metric(used: hs.Scope, text: str) -> float:
        logits = used.forward(used.encode([text])).logits[0, -1]
        return float(logits[house] - logits[tree])

    base, whole = metric(scope, corrupted), metric(scope, clean)
    read = scope.read(clean)
    for layer, head in ((0, 0), (0, 3), (1, 1)):
        given = read.part().weights(layer)[None]
        edited = scope.without([(layer, head)], weights=given)
        share = (metric(edited, corrupted) - base) / (whole - base)
        assert found.map("patch")[layer, head] == pytest.approx(share, abs=1e-3)
