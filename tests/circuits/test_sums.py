"""Parts of a decoder's logit sum to it in every family, or the family is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import headscope as hs
from headscope.circuits.logits.target import softcapped
from headscope.errors import HeadscopeError
from tests.contracts.families import FAMILIES, Family
from tests.contracts.family_models import build
from tests.contracts.odd_families import DECODERS, odd_scope
from tests.contracts.sizes import grouped
from tests.tiny import tiny_tokenizer

TEXT = "i went to the store and bought a red"
MOE = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
QWEN2_MOE = Family(
    "Qwen2-MoE", "Qwen2MoeForCausalLM", grouped(shared_expert_intermediate_size=32, **MOE)
)


def scope_of(family: Family) -> hs.Scope:
    return hs.load(build(family), tiny_tokenizer(), name=family.name)


@pytest.mark.parametrize(
    "family", [one for one in FAMILIES if one.reads.startswith("text")], ids=lambda one: one.name
)
def test_parts_sum_or_are_refused(family: Family) -> None:
    scope = scope_of(family)
    if "decoder" not in scope.kinds:
        pytest.skip("no decoder")
    assert_sums_or_is_refused(scope)


@pytest.mark.parametrize("make", DECODERS, ids=lambda one: one.__name__)
def test_parts_of_odd_decoders_sum_or_are_refused(make: Callable[[], Any]) -> None:
    assert_sums_or_is_refused(odd_scope(make))


def assert_sums_or_is_refused(scope: hs.Scope) -> None:
    try:
        found = hs.attribute(scope, TEXT, target="house", lens=False, tokens=0)
    except HeadscopeError as refused:
        assert str(refused).endswith(".")
        return
    largest = max(abs(part.value) for part in found.parts)
    assert abs(found.unexplained) <= 1e-3 * largest


def test_the_gate_of_a_shared_expert_is_counted_once() -> None:
    found = hs.attribute(scope_of(QWEN2_MOE), TEXT, target="house", lens=False, tokens=0)
    largest = max(abs(part.value) for part in found.parts)
    assert abs(found.unexplained) <= 1e-4 * largest


def test_a_soft_cap_is_noticed_at_small_logits() -> None:
    import torch

    before = torch.randn(64, generator=torch.Generator().manual_seed(0))
    assert softcapped(30 * torch.tanh(before / 30), before)
    assert not softcapped(0.0625 * before, before)
