"""Attention weighted by what it carries."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.circuits import weightings
from headscope.statistics.of_reading import pair_counts, reading_values
from headscope.views import discover
from tests.views.decoding import Container

TEXT = "i went to the store and bought a red"


def test_a_norm_weighted_reading_is_the_edges_lengths(tiny_llama) -> None:
    outputs = hs.circuits.head_outputs(tiny_llama, TEXT)
    reading = hs.circuits.weighted(tiny_llama, TEXT, by="norm")
    most = max(float(layer.norm_weighted.max()) for layer in outputs.values())
    for layer in (0, 1):
        lengths = outputs["decoder", layer].norm_weighted.numpy() / most
        assert np.allclose(reading.part().weights(layer), lengths, atol=1e-5)
    assert "norm of what is moved" in reading.model
    for name in ("head", "matrix", "model", "text"):
        assert discover()[name].build(reading).header["parts"]


def test_weights_towards_a_logit_are_the_edges_of_its_attribution(tiny_llama) -> None:
    found = hs.attribute(tiny_llama, TEXT, target="house")
    reading = hs.circuits.weighted(tiny_llama, TEXT, by="logit", target="house")
    for layer in (0, 1):
        row = reading.part().weights(layer)[:, -1]
        edges = np.abs(found.edges[f"decoder.{layer}"][:, -1])
        ratio = edges.sum() / row.sum()
        assert np.allclose(row * ratio, edges, atol=1e-4 * edges.max())


def test_mixing_with_a_norm_is_that_of_whole_vectors(tiny_bert) -> None:
    """Built again from every edge's vector, through the model's own layer norm."""
    text = "the cat sat on the mat"
    mixed = hs.circuits.mixing(tiny_bert, text)
    outputs = hs.circuits.head_outputs(tiny_bert, text)["encoder", 1]
    hidden: list[torch.Tensor] = []
    layer = tiny_bert.model.bert.encoder.layer[1]
    handle = layer.register_forward_pre_hook(lambda m, given: hidden.append(given[0][0].detach()))
    with torch.no_grad():
        tiny_bert.model(**tiny_bert.encode([text]).inputs)
    handle.remove()
    norm = layer.attention.output.LayerNorm
    for query, key in ((2, 2), (2, 4), (0, 5)):
        vector = sum(outputs.edge(head, query, key) for head in range(4))
        if query == key:
            vector = vector + hidden[0][query]
        spread = (hidden[0][query] + outputs.written[query]).std(unbiased=False)
        made = (vector - vector.mean()) / spread * norm.weight.detach()
        assert mixed[1][query, key] == pytest.approx(float(made.norm()), rel=1e-3)


def test_an_unknown_weighting_is_refused(tiny_llama) -> None:
    with pytest.raises(hs.BadInput, match="by= is 'norm' or 'logit'"):
        hs.circuits.weighted(tiny_llama, TEXT, by="magic")


def test_views_draw_the_norm_in_place_of_the_weight_and_say_so(tiny_llama, tmp_path) -> None:
    from headscope.views.shared.selection import select

    reading = hs.circuits.with_weightings(tiny_llama, TEXT, target="house")
    lengths = hs.circuits.head_outputs(tiny_llama, TEXT)["decoder", 1].norm_weighted.numpy()
    most = reading.part().weightings["norm"].most
    drawn = select(reading.part(), 1, {"weighting": "norm"}, [0, 2]).weights
    assert np.allclose(drawn * most, lengths[[0, 2]], atol=1e-4 * most)
    for view in (hs.head_view, hs.matrix_view, hs.text_view):
        view(reading, weighting="logit").save(tmp_path / "v.svg")
        svg = (tmp_path / "v.svg").read_text()
        assert "size of the part along the logit of house" in svg


def test_the_page_gets_a_factor_for_every_head_and_key(tiny_llama) -> None:
    reading = hs.circuits.with_weightings(tiny_llama, TEXT, by="norm")
    data = Container(discover()["head"].build(reading, weighting="norm").container())
    header = data.header["weightings"]["norm"]
    assert header["title"].startswith("norm of what is moved (1 = ")
    sent = data.array(header["parts"]["decoder"])
    kept = reading.part().weightings["norm"]
    assert np.allclose(sent[1], kept.factors[1] / kept.most, atol=1e-6)


def test_a_reading_without_weightings_is_refused_in_one_sentence(tiny_llama) -> None:
    reading = tiny_llama.read(TEXT)
    with pytest.raises(hs.BadInput, match="with_weightings"):
        hs.head_view(reading, weighting="norm")
    with pytest.raises(hs.BadInput, match="has no option 'weighting'"):
        hs.neuron_view(reading, weighting="norm")


def test_of_two_stacks_the_encoder_has_no_part_along_the_decoders_logit() -> None:
    from tests.tiny import tiny_scope

    scope = tiny_scope("T5ForConditionalGeneration")
    reading = hs.circuits.with_weightings(scope, "the cat sat", "the dog")
    assert set(reading.part("cross").weightings) == {"norm", "logit"}
    assert set(reading.part("encoder").weightings) == {"norm"}


def test_a_weighting_of_a_long_text_is_that_of_its_whole_maps(tiny_llama, monkeypatch) -> None:
    whole = hs.circuits.with_weightings(tiny_llama, TEXT).part().weightings
    monkeypatch.setitem(weightings.AT_ONCE, "cpu", 400)  # two queries at a time
    found = hs.circuits.with_weightings(tiny_llama, TEXT).part().weightings
    for name in ("norm", "logit"):
        assert found[name].most == pytest.approx(whole[name].most, rel=1e-5)


def test_what_was_measured_of_a_text_is_not_measured_again_when_it_is_weighted(tiny_llama) -> None:
    reading = tiny_llama.read(TEXT)
    measured = reading_values(reading.part())
    found = weightings.weigh(tiny_llama, reading, TEXT, by="norm")
    assert "norm" in found.part().weightings
    assert reading_values(found.part()) is measured
    assert pair_counts(found.part()) is pair_counts(reading.part())
