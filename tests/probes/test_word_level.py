"""Attention between words, from attention between tokens."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headscope.corpus.bad_data import Faults
from headscope.probes.passes import word_batches
from headscope.probes.word_level import word_index
from tests.probes.conftest import sentence


def test_attention_to_a_split_word_is_summed_and_from_it_averaged():
    # [CLS] fresh straw ##berries [SEP]: two words, the second in two pieces
    index = word_index([np.array([-1, 0, 1, 1, -1])], tokens=5, words=2)
    weights = torch.zeros(1, 1, 5, 5)
    weights[0, 0, 1] = torch.tensor([0.1, 0.2, 0.3, 0.1, 0.3])
    weights[0, 0, 2] = torch.tensor([0.0, 0.5, 0.2, 0.2, 0.1])
    weights[0, 0, 3] = torch.tensor([0.2, 0.1, 0.4, 0.0, 0.3])
    expected = torch.tensor([[0.2, 0.4], [(0.5 + 0.1) / 2, (0.4 + 0.4) / 2]])
    torch.testing.assert_close(index(weights)[0, 0], expected)


def test_the_first_piece_can_speak_for_its_word():
    index = word_index([np.array([0, 1, 1])], tokens=3, words=2, mode="first")
    weights = torch.tensor([[[[0.2, 0.3, 0.5], [0.6, 0.1, 0.3], [0.0, 0.0, 1.0]]]])
    torch.testing.assert_close(index(weights)[0, 0, 1], torch.tensor([0.6, 0.4]))


@pytest.mark.parametrize("mode", ["mean", "first"])
def test_rows_sum_to_one_when_specials_count_as_words(mode):
    numbers = [np.array([-1, 0, 1, 1, 2, -1]), np.array([-1, 0, 0, 0, -1])]
    ends = [(0, 5), (0, 4)]
    index = word_index(numbers, tokens=6, words=3, mode=mode, ends=ends)
    weights = torch.rand(2, 4, 6, 6)
    weights[1, :, :, 5] = 0  # padding
    weights /= weights.sum(dim=-1, keepdim=True)
    rows = index(weights).sum(dim=-1)
    present = index.present[:, None].expand_as(rows)
    torch.testing.assert_close(rows[present], torch.ones(int(present.sum())))
    assert not rows[~present].any()


def test_a_word_the_tokenizer_drops_is_absent_and_its_neighbours_keep_their_place(tiny_bert):
    dropped = sentence("the \u200d cat", [3, 3, 0], "det punct root")  # a lone joiner has no token
    (batch,) = word_batches(tiny_bert, [dropped], Faults())
    assert batch.index.present.tolist() == [[True, False, True]]
    assert batch.index.total[0, 2].argmax() == 2  # [CLS] the cat


def test_words_of_a_real_tokenizer_are_found_again(minilm):
    made = sentence("Do n't re-tokenise naïve strawberries !", [5, 5, 5, 5, 0, 5], "a b c d e f")
    (batch,) = word_batches(minilm, [made], Faults())
    tokens = batch.batch.tokens[0]
    spelled = [
        "".join(
            tokens.spellings[t].removeprefix("##") for t in np.flatnonzero(tokens.word_ids == word)
        )
        for word in range(6)
    ]
    assert spelled == ["do", "n't", "re-tokenise", "naive", "strawberries", "!"]


def test_the_batched_conversion_equals_the_readings_own(minilm):
    made = sentence(
        "She bought fresh strawberries , didn't she ?", [2, 0, 4, 2, 2, 2, 2, 2], "a " * 8
    )
    (batch,) = word_batches(minilm, [made], Faults())
    seen = {}
    minilm.forward(batch.batch, lambda call: seen.update({call.layer: batch.index(call.weights)}))
    words = minilm.read(list(made.words)).words().attention
    for layer, found in seen.items():
        expected = words.isel(layer=layer).values[:, 1:-1, 1:-1]
        np.testing.assert_allclose(found[0].numpy(), expected, atol=1e-5)
