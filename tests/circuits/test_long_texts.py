"""A prediction of a long text is taken apart from what reaches the answer, and is the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import headscope as hs
from headscope.circuits.logits import parts
from headscope.circuits.logits import solve as solving
from headscope.circuits.logits.attribute import attribute
from headscope.circuits.logits.solve import Solved, solve
from headscope.circuits.logits.target import question
from headscope.circuits.weightings import weigh
from headscope.circuits.wiring import wiring
from tests.capture.test_lazy import Sizes
from tests.contracts.family_models import build
from tests.tiny import tiny_scope, tiny_tokenizer

TEXT = "i went to the store and bought a red"


def apart(scope: hs.Scope, text: str, **options: Any) -> dict[str, Any]:
    """Every number of an attribution."""
    found = attribute(scope, text, tokens=4, **options)
    said = {name: [one.values for one in both] for name, both in found.promotes.items()}
    return {
        "parts": [one.value for one in found.parts],
        "edges": np.concatenate([one.sum(1).ravel() for one in found.edges.values()]),
        "promotes": np.ravel(list(said.values())),
        "lens": np.ravel([one.values for one in found.lens]),
        "target by layer": found.target_by_layer,
        "unexplained": found.unexplained,
    }


@pytest.mark.parametrize("name", ["Llama", "BERT", "T5", "Gemma 2", "Mixtral"])
def test_what_is_kept_at_the_answer_alone_gives_what_all_of_it_gives(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.contracts.families import FAMILIES

    if name == "BERT":
        scope, text = tiny_scope("BertForMaskedLM"), TEXT.replace("store", "[MASK]")
    else:
        family = next(one for one in FAMILIES if one.name == name)
        scope, text = hs.load(build(family), tiny_tokenizer(), name=name), TEXT
    narrow = apart(scope, text)
    monkeypatch.setattr(Solved, "reached_from", lambda *_: False)
    whole = apart(scope, text)
    for part, numbers in whole.items():
        np.testing.assert_allclose(narrow[part], numbers, atol=1e-5, rtol=1e-5, err_msg=part)


@pytest.mark.parametrize(
    "name", ["LlamaForSequenceClassification", "BertForSequenceClassification"]
)
def test_a_long_text_is_asked_first_from_where_its_class_comes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = tiny_scope(name)
    whole = apart(scope, TEXT, target=1)
    monkeypatch.setattr(solving, "LONG", 0)
    monkeypatch.setattr(parts, "MOST_EDGES", 1)
    narrow = apart(scope, TEXT, target=1)
    for part, numbers in whole.items():
        np.testing.assert_allclose(narrow[part], numbers, atol=1e-5, rtol=1e-5, err_msg=part)


def test_where_positions_mix_on_the_way_to_the_answer_all_of_them_count() -> None:
    scope = tiny_scope("LlamaForCausalLM")

    def mixed(module: Any, given: Any, output: Tensor) -> Tensor:
        return output + 0.5 * output.roll(1, 1)

    handle = scope.model.model.layers[0].register_forward_hook(mixed)
    try:
        found = attribute(scope, TEXT, target="house", tokens=0, lens=False)
    finally:
        handle.remove()
    assert len(found.rows_read) == 2
    assert abs(found.unexplained) <= 1e-4 * max(abs(one.value) for one in found.parts)


@pytest.fixture(scope="module")
def long_llama() -> hs.Scope:
    return tiny_scope(
        "LlamaForCausalLM", num_key_value_heads=2, max_position_embeddings=4096,
        attn_implementation="sdpa",
    )  # fmt: skip


LONG_TEXT = " ".join([TEXT] * 64)


def kept_bytes(solved: Solved) -> int:
    """What a pass leaves in memory: leaves, what they were given, attention, slopes."""
    traced = solved.traced
    found = [*traced.hidden, *(one for one in solved.slopes if one is not None)]
    for leaf in traced.leaves:
        found += [leaf.value] if leaf.given is None else [leaf.value, leaf.given]
    for one in traced.attended.values():
        found += [one.values, one.weights_of(solved.rows)]
    storages = {one.untyped_storage().data_ptr(): one.untyped_storage() for one in found}
    return sum(one.nbytes() for one in storages.values())


def test_a_long_text_is_taken_apart_without_a_map_and_keeps_what_is_documented(
    long_llama: hs.Scope,
) -> None:
    """docs/performance/index.md gives the formula: embeddings and their slope, and of every layer
    the values of its keys and a weight a head and token."""
    config = long_llama.model.config
    asked = question(long_llama, LONG_TEXT)
    tokens, found = len(asked.query), wiring(long_llama)
    with Sizes() as sizes:
        solved = solve(long_llama, found, [asked], [None])
    assert sizes.largest < tokens * tokens * 4
    size = config.hidden_size // config.num_attention_heads
    a_layer = config.num_key_value_heads * size + config.num_attention_heads
    expected = 4 * tokens * (2 * config.hidden_size + config.num_hidden_layers * a_layer)
    assert kept_bytes(solved) == pytest.approx(expected, rel=0.02)


def test_a_long_text_is_weighed_with_values_of_one_layer_at_a_time(
    long_llama: hs.Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headscope.circuits import weightings

    reading = long_llama.read(LONG_TEXT)
    tokens, heads = len(reading.part().query), reading.part().heads
    whole = weigh(long_llama, reading, LONG_TEXT, by="logit").part().weightings["logit"]
    monkeypatch.setattr(weightings, "AT_ONCE", {"cpu": 4 * heads * tokens * 8})
    with Sizes() as sizes:
        weighted = weigh(long_llama, reading, LONG_TEXT, by="logit").part().weightings["logit"]
    assert sizes.largest < tokens * tokens * 4
    assert weighted.most == pytest.approx(whole.most, rel=1e-5)
    for layer, factors in whole.factors.items():
        np.testing.assert_allclose(weighted.factors[layer], factors, atol=1e-6)


def test_the_mask_of_some_queries_is_made_for_them_alone(long_llama: hs.Scope) -> None:
    from headscope.capture.softmax import weight_rows

    rows, found = torch.tensor([3, 200]), []

    def look(call: Any) -> None:
        found.append((weight_rows(call, rows), call))

    with Sizes() as sizes:
        long_llama.forward(long_llama.encode([LONG_TEXT]).inputs, look, lazy=True)
    for made, call in found:
        assert sizes.largest < 4 * call.q.shape[2] ** 2
        torch.testing.assert_close(made, call.weights[:, :, rows].float(), atol=1e-6, rtol=1e-5)
