"""Explanations: exact with every neuron kept, and right about neurons that were planted."""

from __future__ import annotations

import numpy as np
import planted
import pytest

from headscope.errors import BadInput
from headscope.patterns.explain import explain, position_aware, sentence_sign, separator_matching
from headscope.patterns.explain.contributors import BIAS, contributors
from headscope.patterns.labels import quick_labels
from headscope.reading import LayerAttention, Part
from headscope.reading.reading import Reading

TEXT = ("i went to the store .", "at the store , i bought fresh straw ##berries .")
FAMILIES = ["tiny_bert", "tiny_gpt2", "tiny_llama", "tiny_gemma"]


def read(scope, pair: bool = True):
    return scope.read(*TEXT) if pair else scope.read(" ".join(TEXT))


@pytest.mark.parametrize("family", FAMILIES)
def test_with_every_neuron_kept_the_softmax_is_the_captured_weights(family: str, request) -> None:
    scope = request.getfixturevalue(family)
    part = read(scope, pair=not scope.causal).part()
    worst = max(
        np.abs(contributors(part, one.layer, head).weights() - one.weights[head]).max()
        for one in part.layers
        for head in range(len(one.weights))
    )
    assert worst < 1e-5


def test_a_positional_bias_is_a_contributor_of_its_own(tiny_t5) -> None:
    reading = tiny_t5.read("i went to the store .", target="i bought fresh straw ##berries .")
    for kind in ("encoder", "decoder"):
        part = reading.part(kind)
        for one in part.layers:
            parts = contributors(part, one.layer, 1)
            assert parts.neurons[-1] == (BIAS,)
            assert parts.names[-1] == "position"
            assert np.abs(parts.weights() - one.weights[1]).max() < 1e-5
            without = np.ones(len(parts), bool)
            without[-1] = False
            assert np.abs(parts.weights(without) - one.weights[1]).max() > 1e-3


def test_rotary_models_are_explained_in_frequency_pairs(tiny_llama) -> None:
    part = read(tiny_llama, pair=False).part()
    parts = contributors(part, 0, 3)
    width = part.layers[0].q.shape[-1]
    assert parts.neurons[0] == (0, width // 2)
    assert len(parts) == width // 2


def planted_reading(width: int = 16, fixed: bool = True, seed: int = 0) -> Reading:
    """A head made to attend to the next token by known neurons.

    fixed: by neurons 3 and 5 alone, which all tokens use; otherwise by one neuron per place.
    """
    tokens = planted.pair(seed)
    n = len(tokens)
    rng = np.random.default_rng(seed)
    q, k = rng.normal(0, 0.05, (2, n, width))
    if fixed:
        special = ~tokens.content
        q[:, 3], q[:, 5] = 4.0, -4.0
        k[special, 3], k[special, 5] = 2.0, -2.0
    else:
        for i in range(n):
            q[i, (i + 1) % width] += 6.0
            k[i, i % width] += 6.0
    one = LayerAttention(
        layer=0, q=q[None].astype(np.float32), k=k[None].astype(np.float32), scaling=0.5
    )
    one = LayerAttention(0, one.compute_weights(), one.q, one.k, scaling=0.5)
    return Reading({"encoder": Part("encoder", tokens, tokens, (one,))}, "planted")


def test_two_planted_separator_neurons_are_found_and_carry_the_pattern() -> None:
    found = explain(planted_reading(), 0, 0, "delimiter")
    assert sorted(found.order[:2]) == [3, 5]
    assert found.delta.share(2) > 0.95
    assert found.delta.participation == pytest.approx(2, abs=0.3)
    assert found.stability.cosine > 0.95
    assert found.causal.only == pytest.approx(found.causal.score, abs=0.02)
    assert found.causal.without < 0.3
    assert found.neurons["neuron"].tolist()[:2] in (["3", "5"], ["5", "3"])
    assert "the same ones at every position" in found.words


def test_no_sentence_speaks_of_shares_of_a_difference_that_is_not_there(tiny_bert) -> None:
    reading = read(tiny_bert)
    every = [explain(reading, layer, head, "next_word") for layer in range(2) for head in range(4)]
    assert {one.delta.total > 0 for one in every} == {True, False}
    for one in every:
        assert "nan" not in one.words
        assert ("of the difference" in one.words) == (one.delta.total > 0)


def test_separator_matching_says_where_the_key_is_large_and_the_signs_agree() -> None:
    found = separator_matching(planted_reading(), 0, 0, size=2)
    assert sorted(found.neurons) == [3, 5]
    assert found.key_share > 0.9
    assert found.sign_agreement == 1.0
    assert found.kurtosis > found.other_kurtosis


def test_neurons_that_differ_at_each_position_are_told_apart_from_fixed_ones() -> None:
    found = explain(planted_reading(fixed=False), 0, 0, "next_word")
    assert found.delta.participation > 10
    assert found.stability.cosine < 0.3
    assert "others at each position" in found.words
    assert f"{round(found.delta.participation)} of 16 neurons" in found.words


def test_delta_is_the_mean_of_targets_minus_the_mean_of_others_by_hand() -> None:
    reading = planted_reading(fixed=False)
    part = reading.part()
    one, row = part.layers[0], part.query
    by_hand = []
    for i in range(len(row) - 1):
        if row.content[i] and row.content[i + 1] and row.segments[i] == row.segments[i + 1]:
            products = one.q[0, i] * one.k[0] * 0.5  # s d
            others = [j for j in range(len(row)) if j != i + 1]
            by_hand.append(products[i + 1] - products[others].mean(0))
    found = explain(reading, 0, 0, "next_word")
    assert found.delta.mean == pytest.approx(np.mean(by_hand, 0), abs=1e-5)


def test_zeroing_segment_ids_moves_the_score_of_a_model_that_reads_them(
    tiny_bert, tiny_gpt2
) -> None:
    found = sentence_sign(tiny_bert, *TEXT, layer=0, head=0)
    assert found.zeroed is not None and found.zeroed != found.score
    assert len(found.neurons) == 8
    with pytest.raises(BadInput, match="need a sentence pair"):
        sentence_sign(tiny_gpt2, TEXT[0], "", layer=0, head=0)


def test_moving_all_positions_changes_nothing_where_positions_are_relative(tiny_llama) -> None:
    texts = [TEXT[0], TEXT[1], "the cat sat on the mat .", "he said that it was one red house ."]
    found = position_aware(tiny_llama, texts, 0, 1, "previous_word", shift=8)
    assert found.shifted == pytest.approx(found.score, abs=1e-4)
    assert found.shuffled != pytest.approx(found.score, abs=1e-4)


def test_a_head_that_follows_positions_follows_them_when_they_are_exchanged(minilm) -> None:
    texts = [TEXT[0], "the cat sat on the mat .", "he said that it was one red house ."]
    found = position_aware(minilm, texts, 0, 2, "previous_word")
    assert found.score > 0.9 and found.shifted > 0.9
    assert found.shuffled < 0.2 and found.followed > 0.9


def test_misuse_is_said_in_one_sentence(tiny_bert) -> None:
    reading = read(tiny_bert)
    for call, message in [
        (lambda: explain(reading, 0, 9, "next_word"), "no head 9"),
        (lambda: explain(reading, 0, 0, "induction"), "does not apply"),
        (lambda: explain(reading, 0, 0, "related_word"), "no single targets to explain"),
        (lambda: explain(reading, 0, 0, "next_word", size=99), "1 to 8 neurons"),
    ]:
        with pytest.raises(BadInput, match=message):
            call()


def test_quick_labels_speak_of_one_text_and_name_a_planted_head() -> None:
    frame = quick_labels(planted_reading(fixed=False))
    assert frame.iloc[0]["pattern"] == "next_word"
    assert frame.iloc[0]["label"] == "next word"
    assert (frame["documents"] == 1).all() and (frame["p"] < 1e-3).all()
