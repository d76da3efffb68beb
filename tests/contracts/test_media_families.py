"""Every family that sees or hears is captured exactly, edited and surveyed."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import headscope as hs
from headscope.capture import Call
from headscope.media.positions import PositionKind
from tests.contracts.media_families import MEDIA_FAMILIES, MediaFamily
from tests.contracts.test_families import softmax_in_float64

VALUES = ("v_proj", "value", "v")


@pytest.fixture(scope="module", params=MEDIA_FAMILIES, ids=lambda family: family.name)
def family(request: pytest.FixtureRequest) -> MediaFamily:
    return request.param


def _inputs(family: MediaFamily) -> tuple[hs.Reading, dict[str, Any], nn.Module]:
    """A reading, what the model was given for it, and which model: the whole or one tower."""
    found: list[tuple[dict[str, Any], nn.Module]] = []
    model = family.scope.model
    parts = [model, *(getattr(model, name, None) for name in ("text_model", "vision_model"))]

    def keep(module: nn.Module, _: Any, given: dict[str, Any]) -> None:
        found.append((given, module))

    hooks = [
        part.register_forward_pre_hook(keep, with_kwargs=True) for part in parts if part is not None
    ]
    try:
        family.scope.description  # noqa: B018  tried before, so that only the reading is heard
        found.clear()
        reading = family.scope.read(**family.given)
    finally:
        for hook in hooks:
            hook.remove()
    return reading, *found[0]


def _own(model: Any, name: str, given: dict[str, Any]) -> dict[str, Tensor]:
    """What each attention module gives back beside its output, run eagerly and never captured."""
    model = copy.deepcopy(model)
    run = model.get_submodule(name) if name else model
    model.set_attn_implementation("eager")
    found: dict[str, Tensor] = {}
    names = {id(module): name for name, module in model.named_modules()}

    def keep(module: nn.Module, _: Any, output: Any) -> None:
        beside = output[1] if isinstance(output, tuple) and len(output) > 1 else None
        if isinstance(beside, Tensor) and beside.dim() == 4:
            found[names[id(module)]] = beside

    hooks = [module.register_forward_hook(keep) for module in model.modules()]
    try:
        with torch.no_grad():
            run(**given)
    finally:
        for hook in hooks:
            hook.remove()
    return found


def _calls(scope: hs.Scope, given: dict[str, Any]) -> list[Call]:
    calls: list[Call] = []
    scope.forward(given, calls.append, scores=True)
    return calls


def test_what_is_captured_is_the_models_own(family: MediaFamily) -> None:
    reading, given, run = _inputs(family)
    names = {id(module): name for name, module in family.scope.model.named_modules()}
    own, calls = _own(family.scope.model, names[id(run)], given), _calls(family.scope, given)
    compared = 0
    for call in calls:
        expected = own.get(names[id(call.module)])
        compared += expected is not None
        if expected is None:  # a module that keeps its weights to itself
            expected = softmax_in_float64(call).to(call.weights.dtype)
        torch.testing.assert_close(call.weights, expected, atol=1e-5, rtol=0)
        part = reading.parts.get(call.kind)
        if part is not None and call.weights.shape[0] == 1 and call.layer in part.numbers:
            shown = part.weights(call.layer)
            if shown.shape == call.weights.shape[1:]:
                np.testing.assert_allclose(shown, call.weights[0], atol=1e-5)
    assert compared >= 2


def test_a_head_that_is_switched_off_adds_nothing(family: MediaFamily) -> None:
    """The truth: a copy of the model whose values of that head are zero."""
    _, given, _ = _inputs(family)
    scope = family.scope
    for kind in scope.kinds:
        calls = [call for call in _calls(scope, given) if call.kind == kind and call.layer == 0]
        if not calls:
            continue  # the other tower's
        heads = [(0, head) for head in range(calls[0].heads // calls[0].groups)]  # of one group
        edited = scope.without(heads, kind=kind, mode="zero").forward(given)
        other = copy.deepcopy(scope.model)
        names = {id(module): name for name, module in scope.model.named_modules()}
        _silence(other.get_submodule(names[id(calls[0].module)]), calls[0].groups)
        expected = hs.load(other, scope.tokenizer, processor=scope.processor).forward(given)
        torch.testing.assert_close(_first(edited), _first(expected), atol=1e-4, rtol=1e-4)
        mixed = calls[0].v is None or bool(calls[0].v.any())  # DETR's objects begin as zeros
        assert not mixed or not torch.equal(_first(edited), _first(scope.forward(given)))


def _silence(attention: nn.Module, groups: int) -> None:
    """The first group's values, also where q, k and v come out of one matrix."""
    found = {name.rsplit(".")[-1]: one for name, one in attention.named_modules()}
    together: Any = found.get("qkv")
    value: Any = together or next(found[name] for name in VALUES if name in found)
    size = len(value.weight) // (3 if together is not None else 1)
    rows = slice(len(value.weight) - size, len(value.weight) - size + size // groups)
    with torch.no_grad():
        value.weight[rows] = 0
        if value.bias is not None:
            value.bias[rows] = 0
        shift = getattr(attention, "v_bias", None)
        if shift is not None:
            shift[: size // groups] = 0


def _first(output: Any) -> Tensor:
    for name in ("logits", "last_hidden_state"):
        if output.get(name) is not None:
            return output[name]
    raise AssertionError("the model gave no output that can be compared")


def test_a_survey_is_the_mean_of_its_readings(family: MediaFamily) -> None:
    if family.reads == "text":
        return  # a survey of texts, as of any model
    kind = PositionKind.FRAME if family.reads == "sound" else PositionKind.PATCH
    measure = "time_entropy" if family.reads == "sound" else "picture_entropy"
    survey = hs.survey(family.scope, family.corpus, [measure], progress=False)
    readings = [
        family.scope.read(audio=one) if family.reads == "sound" else family.scope.read(image=one)
        for one in family.corpus
    ]
    checked = 0
    for which, part in readings[0].parts.items():
        positions = part.key.positions
        if positions is None or not (positions.kinds == kind).any():
            continue
        means = np.mean([_entropies(one.part(which), kind) for one in readings], axis=0)
        table = survey.table[survey.table["kind"] == which]
        found = table.pivot(index="layer", columns="head", values="value").to_numpy()
        np.testing.assert_allclose(found, means, atol=1e-5)
        checked += 1
    assert checked


def _entropies(part: Any, kind: PositionKind) -> np.ndarray:
    made = np.full((len(part.numbers), part.heads), np.nan)
    there = part.key.positions.kinds == kind
    for row, number in enumerate(part.numbers):
        for head, weights in enumerate(np.asarray(part.weights(number), np.float64)):
            looks = weights[:, there][weights[:, there].sum(axis=1) > 1e-12]  # not before a picture
            shares = looks / looks.sum(axis=1, keepdims=True)
            made[row, head] = np.mean([-sum(p * np.log(p) for p in one if p > 0) for one in shares])
    return made
