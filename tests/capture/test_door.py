"""What the door promises: nesting, order, errors, and a model left as it was found."""

from __future__ import annotations

import copy

import pytest
import torch
import transformers
from torch import Tensor

from headscope.capture import Call, Output, capture
from headscope.errors import AttentionNotRead, BadInput, HeadscopeError
from tests.capture.recording import Recording, some_ids
from tests.contracts.test_families import state
from tests.tiny import tiny_model


@pytest.fixture(scope="module")
def bert():
    return tiny_model("BertModel")


@pytest.fixture(scope="module")
def deberta():
    return tiny_model("DebertaV2Model", relative_attention=True, pos_att_type=["c2p"])


def test_nested_doors_each_see_every_call(bert) -> None:
    outer, inner = Recording(), Recording()
    with torch.no_grad(), capture(bert, outer), capture(bert, inner):
        bert(some_ids())
    assert outer.places == inner.places == [("encoder", 0), ("encoder", 1)]
    for one, other in zip(outer.calls, inner.calls, strict=True):
        assert torch.equal(one.weights, other.weights)


@pytest.mark.parametrize("family", ["bert", "deberta"])
def test_inner_door_sees_what_the_outer_one_made(family: str, request) -> None:
    model = request.getfixturevalue(family)
    uniform = torch.full((1, 4, 8, 8), 1 / 8)
    inner = Recording()
    with torch.no_grad(), capture(model, Recording(uniform)), capture(model, inner):
        model(some_ids())
    assert inner.calls
    for call in inner.calls:
        assert torch.equal(call.weights, uniform)
        assert call.edited


def test_last_answer_of_nested_doors_counts(bert) -> None:
    ids = some_ids()
    first, second = (torch.rand(1, 4, 8, 8).softmax(-1) for _ in range(2))
    with torch.no_grad():
        with capture(bert, Recording(second)):
            expected = bert(ids).last_hidden_state
        with capture(bert, Recording(first)), capture(bert, Recording(second)):
            found = bert(ids).last_hidden_state
    torch.testing.assert_close(found, expected)


def test_closing_the_inner_door_leaves_the_outer_one_open(bert) -> None:
    outer = Recording()
    with torch.no_grad(), capture(bert, outer):
        with capture(bert, Recording()):
            bert(some_ids())
        bert(some_ids())
    assert outer.places == [("encoder", 0), ("encoder", 1)] * 2


def test_two_models_at_once_keep_to_their_own_sinks(bert, deberta) -> None:
    of_bert, of_deberta = Recording(), Recording()
    with torch.no_grad(), capture(bert, of_bert), capture(deberta, of_deberta):
        bert(some_ids())
        deberta(some_ids())
    assert {call.read_at for call in of_bert.calls} == {"interface"}
    assert {call.read_at for call in of_deberta.calls} == {"tap"}


@pytest.mark.parametrize("family", ["bert", "deberta"])
def test_an_exception_in_the_sink_leaves_the_model_as_found(family: str, request) -> None:
    model = request.getfixturevalue(family)
    before = state(model)

    def fail(call: Call) -> None:
        raise KeyError("in the middle")

    with pytest.raises(KeyError, match="in the middle"), capture(model, fail):
        model(some_ids())
    assert state(model) == before
    afterwards = Recording()
    with torch.no_grad(), capture(model, afterwards):
        model(some_ids())
    assert [layer for _, layer in afterwards.places] == [0, 1]


def test_an_exception_in_the_model_leaves_the_numbers_right(bert) -> None:
    seen = Recording()
    with torch.no_grad(), capture(bert, seen):
        with pytest.raises(IndexError):
            bert(torch.tensor([[10_000]]))
        bert(some_ids())
    assert seen.places == [("encoder", 0), ("encoder", 1)]


def test_models_sharing_one_configuration_are_both_put_back() -> None:
    one = tiny_model("BertModel")
    other = transformers.BertModel(one.config).eval()
    assert one.config is other.config
    alone = other(some_ids()).last_hidden_state
    seen = Recording()
    with torch.no_grad(), capture(one, seen):
        # the other model runs our function too, and nobody looks at it
        torch.testing.assert_close(other(some_ids()).last_hidden_state, alone)
    assert seen.calls == []
    assert one.config._attn_implementation == "sdpa"
    assert other.config._attn_implementation == "sdpa"


def test_a_copied_configuration_is_left_alone(bert) -> None:
    twin = copy.deepcopy(bert)
    with capture(bert, Recording()):
        assert twin.config._attn_implementation == "sdpa"


def test_a_model_without_attention_is_refused_in_one_sentence() -> None:
    mamba = tiny_model("MambaModel")
    sentence = r"MambaModel computed no attention.*Mamba.*\.$"
    with pytest.raises(AttentionNotRead, match=sentence), capture(mamba, Recording()):
        mamba(some_ids())


def test_a_door_through_which_nothing_ran_is_no_error(bert) -> None:
    with capture(bert, Recording()):
        pass


def test_weights_of_the_wrong_shape_are_refused(bert, deberta) -> None:
    for model in (bert, deberta):
        sink = Recording(torch.ones(1, 4, 8, 7))
        with pytest.raises(BadInput, match="batch, heads, queries, keys"), capture(model, sink):
            model(some_ids())


def test_an_output_cannot_replace_what_is_read_at_the_softmax(deberta) -> None:
    def answer(call: Call) -> Output:
        return Output(torch.zeros(1, 8, 4, 8))

    with pytest.raises(HeadscopeError, match="replace the weights"), capture(deberta, answer):
        deberta(some_ids())


def test_albert_layers_are_numbered_by_the_order_they_run() -> None:
    albert = tiny_model("AlbertModel", num_hidden_layers=4, embedding_size=16)
    seen = Recording()
    with torch.no_grad(), capture(albert, seen):
        albert(some_ids())
        albert(some_ids())
    assert len({id(call.module) for call in seen.calls}) == 1
    assert seen.places == [("encoder", layer) for layer in range(4)] * 2


def test_parts_of_a_model_can_be_run_alone() -> None:
    t5 = tiny_model("T5ForConditionalGeneration", num_decoder_layers=3)
    seen = Recording()
    with torch.no_grad(), capture(t5, seen):
        t5.get_encoder()(some_ids())
        t5.get_encoder()(some_ids())
    assert seen.places == [("encoder", 0), ("encoder", 1)] * 2


def test_calls_are_frozen(bert) -> None:
    seen = Recording()
    with torch.no_grad(), capture(bert, seen):
        bert(some_ids())
    with pytest.raises(AttributeError):
        seen.calls[0].layer = 7  # pyright: ignore


def test_training_mode_shows_weights_after_dropout() -> None:
    """As `output_attentions` does; a reading is made in evaluation mode."""
    bert = tiny_model("BertModel", attention_probs_dropout_prob=0.5).train()
    own = tiny_model("BertModel", attention_probs_dropout_prob=0.5).train()
    own.set_attn_implementation("eager")
    seen = Recording()
    torch.manual_seed(3)
    with torch.no_grad(), capture(bert, seen):
        bert(some_ids())
    torch.manual_seed(3)
    with torch.no_grad():
        expected = own(some_ids(), output_attentions=True).attentions
    assert (seen.calls[0].weights == 0).any()
    for call, weights in zip(seen.calls, expected, strict=True):
        torch.testing.assert_close(call.weights, weights)


def test_gradients_reach_the_captured_weights() -> None:
    for model in (
        tiny_model("BertForMaskedLM"),
        tiny_model("DebertaV2ForMaskedLM"),
        tiny_model("LongformerForMaskedLM", attention_window=4),
    ):
        kept: list[Tensor] = []

        def keep(call: Call, kept: list[Tensor] = kept) -> None:
            call.weights.retain_grad()
            kept.append(call.weights)

        ids = some_ids()
        with capture(model, keep):
            model(ids, labels=ids).loss.backward()
        assert len(kept) == 2
        for weights in kept:
            assert weights.grad is not None
            assert weights.grad.abs().sum() > 0
