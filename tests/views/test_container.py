"""What travels to the browser is right to 1e-3, whichever way it travels."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from headscope.views import Sending, discover
from headscope.views.wire.container import Buffers, view_data
from headscope.views.wire.frame import layer_data
from tests.views.decoding import Container

PAIR = ("I went to the store.", "At the store, I bought fresh strawberries.")
SCOPES = ["tiny_bert", "tiny_gpt2", "tiny_llama", "tiny_gemma", "tiny_t5", "tiny_deberta"]


@pytest.fixture(params=SCOPES)
def reading(request):
    return request.getfixturevalue(request.param).read(*PAIR)


@pytest.mark.parametrize("neurons", [True, False, None])
def test_weights_arrive_right_to_a_thousandth_as_maps_or_as_q_and_k(reading, neurons):
    data = discover()["head"].build(reading, sending=Sending(neurons=neurons))
    container = Container(data.container())
    for number, part in enumerate(reading.parts.values()):
        for at, layer in enumerate(part.numbers):
            error = np.abs(container.weights(number, at) - part.weights(layer)).max()
            assert error <= 1e-3, (part.kind, layer)


def off_by(container, reading) -> float:
    """The most any q·k or scaled score is off, in steps of the last digit the page writes of it."""
    most = 0.0
    for number, part in enumerate(reading.parts.values()):
        sent = container.header["parts"][number]["per_layer"]
        for at, name in enumerate(part.numbers):
            layer = part.layer(name)
            true, got = (
                np.einsum("htd,hsd->hts", q, np.repeat(k, len(q) // len(k), axis=0))
                for q, k in (
                    (layer.q.astype(float), layer.k.astype(float)),
                    [container.array(sent[at][each]).astype(float) for each in "qk"],
                )
            )
            for scale in (1.0, sent[at]["scaling"]):
                size = np.abs(true * scale)
                digit = np.select([size >= 100, size >= 10], [0.1, 0.01], 0.001)
                most = max(most, float((np.abs(got - true) * scale / digit).max()))
    return most


@pytest.mark.parametrize("times", [1, 30])
@pytest.mark.parametrize("name", ["tiny_bert", "tiny_llama", "tiny_t5"])
def test_scores_arrive_right_to_the_digits_the_page_writes(name, times, request):
    scope = copy.deepcopy(request.getfixturevalue(name))
    for each, weights in scope.model.named_parameters():
        if each.endswith(("query.weight", "q_proj.weight", ".q.weight")):
            weights.data *= times  # scores in the hundreds
    reading = scope.read(*PAIR)
    container = Container(discover()["neuron"].build(reading).container())
    assert off_by(container, reading) <= 1


def test_q_and_k_travel_without_maps_when_they_are_asked_for(tiny_llama):
    data = discover()["neuron"].build(tiny_llama.read(*PAIR))
    part = data.header["parts"][0]
    assert part["encoding"] == "qk"
    assert part["groups"] < part["heads"]
    assert all(layer["maps"] is None and layer["q"] for layer in part["per_layer"])


def test_a_layer_can_be_fetched_alone(tiny_t5):
    reading = tiny_t5.read(*PAIR)
    container = Container(layer_data(reading, "cross", 2).container())
    assert container.header["parts"][0]["layers"] == [2]
    assert np.allclose(container.weights(0, 0), reading.part("cross").weights(2), atol=1e-3)


def test_layers_not_sent_now_leave_their_places_empty(tiny_bert):
    data = discover()["head"].build(tiny_bert.read(*PAIR), layer=1, sending=Sending(only=(1,)))
    first, second = data.header["parts"][0]["per_layer"]
    assert first["maps"] is None and first["q"] is None
    assert second["maps"] is not None or second["q"] is not None


def test_an_edited_head_travels_as_a_map_because_q_and_k_cannot_give_it(tiny_bert):
    edited = tiny_bert.without(heads=[(0, 1)]).read(*PAIR)
    container = Container(discover()["neuron"].build(edited).container())
    assert container.header["parts"][0]["per_layer"][0]["maps"] is not None
    assert np.allclose(container.weights(0, 0), edited.part().weights(0), atol=1e-3)


def test_where_q_and_k_cannot_be_read_the_part_says_why(tiny_bert):
    part = discover()["neuron"].build(tiny_bert.read(*PAIR).words()).header["parts"][0]
    assert part["dim"] == 0
    assert part["why_no_qk"].endswith(".")


def test_half_a_surrogate_pair_in_a_token_survives_the_header(tiny_bert):
    import dataclasses

    reading = tiny_bert.read("a cat sat")
    part = reading.part()
    odd = ("\ud800", *part.query.labels[1:])
    query = dataclasses.replace(part.query, labels=odd)
    strange = dataclasses.replace(
        reading, parts={"encoder": dataclasses.replace(part, query=query)}
    )
    header = Container(discover()["head"].build(strange).container()).header
    assert header["parts"][0]["query"]["text"][0] == "\ud800"


def test_two_buffers_may_not_share_a_name(tiny_bert):
    from headscope.views.wire.packing import pack_bytes

    buffers = Buffers()
    buffers.add("a", pack_bytes(np.zeros(3, np.uint8)))
    with pytest.raises(ValueError, match="already in this view"):
        buffers.add("a", pack_bytes(np.zeros(3, np.uint8)))


def test_every_buffer_starts_at_a_multiple_of_eight():
    from headscope.views.wire.packing import pack_bytes

    buffers = Buffers()
    for size in (1, 7, 8, 9, 30):
        buffers.add(f"b{size}", pack_bytes(np.arange(size, dtype=np.uint8)))
    container = Container(view_data({"parts": []}, buffers).container())
    for size in (1, 7, 8, 9, 30):
        assert container.array({"buffer": f"b{size}"}).tolist() == list(range(size))


@pytest.mark.slow
def test_real_heads_at_128_tokens_are_right_to_a_thousandth(minilm, shared_data):
    text = (shared_data / "wikitext" / "wiki.valid.raw").read_text()[:4000]
    ids = minilm.tokenizer(text, verbose=False)["input_ids"][1:127]
    reading = minilm.read(minilm.tokenizer.decode(ids))
    for neurons in (True, False):
        data = discover()["model"].build(reading, sending=Sending(neurons=neurons))
        container = Container(data.container())
        for at, layer in enumerate(reading.part().numbers):
            error = np.abs(container.weights(0, at) - reading.part().weights(layer)).max()
            assert error <= 1e-3, (neurons, layer, error)
        if neurons:
            assert off_by(container, reading) <= 1
