"""Every family of the architecture matrix is read exactly and left as it was found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

import headscope as hs
from headscope.capture import Call, capture
from headscope.errors import BadInput
from headscope.reading.collecting.keeping import Keeping
from headscope.reading.collecting.run import collect
from headscope.reading.weights import lazy
from headscope.text.tokens import Tokens
from tests.contracts.families import FAMILIES, Family
from tests.contracts.families_page import PAGE, page
from tests.contracts.family_models import build, inputs, own_attentions
from tests.tiny import tiny_tokenizer

KIND_OF = {
    "attentions": ("encoder", "decoder"),
    "encoder_attentions": ("encoder",),
    "decoder_attentions": ("decoder",),
    "cross_attentions": ("cross",),
}


@dataclass
class Run:
    """One family captured once; the tests below look at it from different sides."""

    family: Family
    given: dict[str, Tensor]
    model: Any
    own: dict[str, list[Tensor]]  # output_attentions of the eager model
    plain: Tensor  # first output of the model as it came, before any capture
    captured: Tensor
    lazy: Tensor
    calls: list[Call]
    before: Any
    after: Any


def state(model: Any) -> list[object]:
    """Configurations, attention implementations and hooks of a model, as plain values."""
    found: list[object] = []
    for name, module in model.named_modules():
        hooks = (
            dict(module._forward_hooks),
            dict(module._forward_pre_hooks),
            dict(module._backward_hooks),
        )
        configuration = getattr(module, "config", None)
        if hasattr(configuration, "to_dict"):
            nested = {
                part: getattr(configuration, part)._attn_implementation
                for part in configuration.sub_configs
                if getattr(configuration, part, None) is not None
            }
            implementation = configuration._attn_implementation
            found.append((name, configuration.to_dict(), implementation, nested))
        found.append((name, type(module), hooks, sorted(vars(module))))
    return found


def run(family: Family) -> Run:
    given = inputs(family)
    model = build(family)
    eager = build(family, "eager")
    calls: list[Call] = []

    def keep(call: Call) -> None:
        assert call.weights is not None
        calls.append(call)

    with torch.no_grad():
        output = eager(**given, output_attentions=True)
        plain = (model if family.paths_agree else eager)(**given)
        before = state(model)
        with capture(model, keep, scores=True):
            captured = model(**given)
        with capture(model, lambda call: None, lazy=True):
            lazy = model(**given)
        after = state(model)
    return Run(
        family,
        given,
        model,
        own_attentions(family, output),
        _first(plain),
        _first(captured),
        _first(lazy),
        calls,
        before,
        after,
    )


def _first(output: Any) -> Tensor:
    """The output a user looks at: logits where there are any, hidden states otherwise."""
    for name in ("logits", "prediction_logits", "last_hidden_state"):
        if output.get(name) is not None:
            return output[name]
    raise AssertionError("the model gave no output that can be compared")


RUNS: dict[str, Run] = {}


def run_once(family: Family) -> Run:
    if family.name not in RUNS:
        RUNS[family.name] = run(family)
    return RUNS[family.name]


@pytest.fixture(scope="module", params=FAMILIES, ids=lambda family: family.name)
def seen(request: pytest.FixtureRequest) -> Run:
    return run_once(request.param)


def test_captured_weights_are_the_models_own(seen: Run) -> None:
    assert seen.own, "the family gives no attentions to compare with"
    compared = 0
    for name, own in seen.own.items():
        calls = [call for call in seen.calls if call.kind in KIND_OF[name]]
        numbers = [call.layer for call in calls]
        assert numbers == sorted(set(numbers)) and len(numbers) == len(own)
        for call, expected in zip(calls, own, strict=True):
            queries, keys = expected.shape[2:]
            # Longformer pads to whole windows; its own attentions leave the padding out
            weights = call.weights[:, :, :queries, :keys]
            real = call.valid_queries[:, None, :queries, None]
            assert weights.shape == expected.shape
            assert real.any()
            torch.testing.assert_close(weights * real, expected * real, atol=1e-5, rtol=0)
            compared += 1
    assert compared == len(seen.calls)


def test_outputs_stay_as_they_were(seen: Run) -> None:
    real = _real_rows(seen)
    size = max(1.0, float(seen.plain.abs().max()))
    for changed in (seen.captured, seen.lazy):
        difference = (changed - seen.plain) * real
        assert float(difference.abs().max()) <= 1e-5 * size


def _real_rows(seen: Run) -> Tensor:
    """b t 1, ones at the rows of the output that belong to real tokens."""
    mask = seen.given.get("decoder_attention_mask", seen.given.get("attention_mask"))
    shape = (*seen.plain.shape[:2], *(1,) * (seen.plain.dim() - 2))
    if mask is None or mask.shape != seen.plain.shape[:2]:
        return torch.ones(shape)
    return mask.reshape(shape).float()


def test_model_is_left_as_found(seen: Run) -> None:
    assert seen.after == seen.before


def test_padding_is_told_from_real_tokens(seen: Run) -> None:
    own, decoder = (seen.given.get(name) for name in ("attention_mask", "decoder_attention_mask"))
    for call in seen.calls:
        two_stacks = decoder is not None
        for_queries = decoder if two_stacks and call.kind != "encoder" else own
        for_keys = decoder if two_stacks and call.kind == "decoder" else own
        for given, found in ((for_queries, call.valid_queries), (for_keys, call.valid_keys)):
            if given is None or given.shape[1] > found.shape[1]:
                continue  # pictures have no padding; sound and pooled layers have fewer places
            if call.kind == "cross" and given.shape != found.shape:
                continue  # ProphetNet's several streams look across at once
            assert torch.equal(found[:, : given.shape[1]], given.bool())
            assert not found[:, given.shape[1] :].any()


def test_weights_are_the_softmax_of_q_and_k(seen: Run) -> None:
    if any(call.q is None for call in seen.calls):
        assert {call.read_at for call in seen.calls} <= {"tap", "family"}
        return
    for call in seen.calls:
        real = call.valid_queries[:, None, :, None]
        expected = softmax_in_float64(call)
        torch.testing.assert_close(call.weights.double() * real, expected * real, atol=1e-4, rtol=0)


def softmax_in_float64(call: Call) -> Tensor:
    """The definition, from what a call carries and nothing else."""
    assert call.q is not None and call.k is not None and call.scaling is not None
    k = call.k.double().repeat_interleave(call.heads // call.groups, dim=1)
    scores = call.q.double() @ k.transpose(-1, -2) * call.scaling
    if call.softcap is not None:
        scores = torch.tanh(scores / call.softcap) * call.softcap
    for added in (call.bias, call.mask):
        scores = scores if added is None else scores + added.double()
    if call.sinks is None:
        return scores.softmax(-1)
    sinks = call.sinks.double().reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)
    return torch.cat([scores, sinks], dim=-1).softmax(-1)[..., :-1]


def test_values_are_what_the_model_multiplies(seen: Run) -> None:
    """Those of families read outside the interface, held to the operands of their products."""
    if all(call.read_at == "interface" for call in seen.calls):
        return
    products = Products()
    with torch.no_grad(), capture(seen.model, lambda call: None), products:
        seen.model(**seen.given)
    for call in seen.calls:
        if call.v is None:  # queries that look at values of two kinds; keys that count twice
            assert call.read_at == "family"
            continue
        values = call.v.flatten().sort().values
        assert any(torch.equal(values, one) for one in products.operands)


class Products(TorchFunctionMode):
    """The second operands of all products of three and more dimensions, each sorted."""

    def __init__(self) -> None:
        super().__init__()
        self.operands: list[Tensor] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in ("matmul", "__matmul__", "bmm", "baddbmm", "einsum"):
            one = args[-1][-1] if isinstance(args[-1], tuple) else args[-1]
            if isinstance(one, Tensor) and one.dim() >= 3:
                self.operands.append(one.flatten().sort().values)
        return func(*args, **(kwargs or {}))


def test_texts_become_readings(seen: Run) -> None:
    if not seen.family.reads.startswith("text"):
        assert "input_ids" not in seen.given
        return
    scope = hs.load(seen.model, tiny_tokenizer())
    texts = ["the cat sat on the mat .", "a dog"]
    if seen.family.name == "Funnel":
        with pytest.raises(BadInput, match="it pools them"):
            scope.read_batch(texts)
        return
    for text, reading in zip(texts, scope.read_batch(texts), strict=True):
        alone = scope.read(text)
        assert reading.kinds == alone.kinds == scope.kinds
        for kind, part in reading.parts.items():
            if seen.family.name != "ConvBERT":  # its convolutions reach into the padding
                np.testing.assert_allclose(part.attention, alone.part(kind).attention, atol=1e-4)
            if all(layer.sinks is None for layer in part.layers):
                np.testing.assert_allclose(part.attention.sum("key"), 1, atol=1e-4)


def test_weights_made_when_asked_for_are_the_models_own_also_from_a_file(
    seen: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lazy readings, with the smallest of them as lazy as the largest, one input at a time."""
    if seen.family.name == "Funnel":
        return  # it pools its tokens, and is not read
    monkeypatch.setattr(Keeping, "maps", lambda keeping, *_: not keeping.auto)
    monkeypatch.setattr(lazy, "AT_ONCE", 0)
    scope = hs.load(seen.model, tiny_tokenizer() if "input_ids" in seen.given else None)
    reading = _one_reading(scope, {name: tensor[:1] for name, tensor in seen.given.items()})
    reading.save(tmp_path / "r.safetensors")
    back = hs.Reading.load(tmp_path / "r.safetensors")
    for name, own in seen.own.items():
        kind = next(kind for kind in KIND_OF[name] if kind in reading.parts)
        for layer, expected in zip(reading.part(kind).numbers, own, strict=True):
            queries, keys = expected.shape[2:]
            for found in (reading, back):
                whole = found.part(kind).attention.sel(layer=layer)
                weights = whole.values[:, :queries, :keys]
                own_rows = expected[0, :, : weights.shape[1]]  # ProphetNet's main stream is first
                np.testing.assert_allclose(weights, own_rows, atol=1e-5)
    for part in reading.parts.values():
        for one in part.layers:
            by_pair = one.bias_held is not None and not one.bias_held.relative
            assert one.has_weights == (not one.has_qk or by_pair)


def _one_reading(scope: hs.Scope, given: dict[str, Tensor]) -> hs.Reading:
    if "input_ids" not in given:
        return scope.read_inputs(given)
    key = Tokens.plain(["a"] * given["input_ids"].shape[1])
    query = Tokens.plain(["a"] * given.get("decoder_input_ids", given["input_ids"]).shape[1])
    return collect(scope, given, [query], [key], None, Keeping.of("auto"))[0]


def test_matrix_is_as_large_as_promised() -> None:
    assert len(FAMILIES) >= 40
    names = [family.name for family in FAMILIES]
    assert len(set(names)) == len(names)


def test_page_users_read_is_made_from_the_matrix() -> None:
    assert PAGE.read_text() == page(lambda family: run_once(family).calls), (
        "run: python -m tests.contracts.families_page > docs/reference/families.md"
    )
