"""Weights set by hand: rows keep their sum, and an edit of a link is the one in Python."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headscope.edits.live import effect, switched_off
from headscope.errors import BadInput
from tests.tiny import tiny_scope

TEXT = "the cat sat on the mat and the dog ran"


@pytest.fixture(scope="module")
def llama():
    return tiny_scope("LlamaForCausalLM", num_key_value_heads=2)


def by_hand(llama, *weights, head=(0, 1)):
    return llama.without(heads=[head], mode="weight", weights=weights)


def test_a_weight_set_by_hand_is_there_and_the_others_keep_their_ratios(llama):
    before = llama.read(TEXT).attention.values
    after = by_hand(llama, (6, 2, 0.75), (6, 3, 0.05)).read(TEXT).attention.values
    np.testing.assert_allclose(after[0, 1, 6, [2, 3]], [0.75, 0.05], atol=1e-6)
    rest = [0, 1, 4, 5, 6]
    share = 0.2 / before[0, 1, 6, rest].sum()
    np.testing.assert_allclose(after[0, 1, 6, rest], share * before[0, 1, 6, rest], atol=1e-6)
    after[0, 1, 6] = before[0, 1, 6]
    np.testing.assert_allclose(after[0], before[0], atol=1e-6)


def test_the_output_is_that_of_the_row_given_by_hand(llama):
    inputs = llama.encode([TEXT]).inputs
    rows = llama.read(TEXT).attention.values[1:, 2]  # layer 1, head 2
    rows[0, -1] *= 0.1 / (1 - rows[0, -1, 3])
    rows[0, -1, 3] = 0.9
    wanted = llama.without(heads=[(1, 2)], weights=rows[None]).forward(inputs).logits
    found = by_hand(llama, (len(rows[0]) - 1, 3, 0.9), head=(1, 2)).forward(inputs).logits
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)
    assert (found - llama.forward(inputs).logits).abs().max() > 1e-4


def test_with_a_cache_the_query_is_counted_from_the_beginning(llama):
    ids = llama.encode([TEXT]).inputs["input_ids"]
    edited = by_hand(llama, (ids.shape[1] - 1, 3, 0.9), head=(1, 2))
    begun = edited.forward({"input_ids": ids[:, :-1]}, use_cache=True)
    rest = edited.forward({"input_ids": ids[:, -1:]}, past_key_values=begun.past_key_values)
    whole = edited.forward({"input_ids": ids}).logits[:, -1:]
    torch.testing.assert_close(rest.logits, whole, atol=1e-5, rtol=1e-5)


def test_a_row_with_nothing_else_to_look_at_stays(llama):
    after = by_hand(llama, (0, 0, 0.2)).read(TEXT).attention.values
    assert after[0, 1, 0, 0] == pytest.approx(1)


def test_edits_of_a_link_are_those_of_python(llama):
    inputs = llama.encode([TEXT]).inputs
    pairs = [
        ("emphasis-decoder-3-5-4", llama.emphasise((3, 5), factor=4)),
        ("emphasis-decoder-3-5-0.5-1.0.0.3",
         llama.emphasise((3, 5), heads=[(1, 0), (0, 3)], factor=0.5)),
        ("weight-decoder-0.1-6-2-0.75", by_hand(llama, (6, 2, 0.75))),
    ]  # fmt: skip
    for spelled, edited in pairs:
        found = switched_off(llama, [spelled]).forward(inputs).logits
        assert torch.equal(found, edited.forward(inputs).logits)
        after = effect(llama, TEXT, None, [spelled]).after[0]
        assert after == tuple(edited.next_token(TEXT, 5))
    both = switched_off(llama, ["weight-decoder-0.1-6-2-0.7", "weight-decoder-0.1-6-3-0.3"])
    row = both.read(TEXT).attention.values[0, 1, 6]
    np.testing.assert_allclose(row[[2, 3]], [0.7, 0.3], atol=1e-6)


@pytest.mark.parametrize(
    "wrong", ["", "emphasis-decoder-3-5", "weight-decoder-0.1-6-2-2e9", "emphasis-decoder-3-5-4-1"]
)
def test_an_edit_that_no_link_spells_is_refused(llama, wrong):
    with pytest.raises(BadInput, match="no edit"):
        switched_off(llama, [wrong])


@pytest.mark.parametrize(
    "wrong", [None, (), (1, 2, 0.5), ((1, 2, 1.5),), ((1, -2, 0.5),), ((1, 2, "much"),)]
)
def test_weights_that_make_no_sense_are_refused(llama, wrong):
    with pytest.raises(BadInput, match="from 0 to 1"):
        llama.without(heads=[(0, 0)], mode="weight", weights=wrong)


def test_a_row_holds_no_more_than_all_and_nothing_of_the_future(llama):
    with pytest.raises(BadInput, match="more than 1"):
        by_hand(llama, (6, 2, 0.75), (6, 3, 0.5))
    with pytest.raises(BadInput, match="Token 3 does not see token 6"):
        by_hand(llama, (3, 6, 0.5)).read(TEXT)
