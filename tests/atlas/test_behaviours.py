"""One head, several behaviours: planted mixtures are split, single behaviours are not."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score
from transformers import LlamaConfig, LlamaForCausalLM

import headscope as hs
from headscope.atlas.behaviours.clusters import clusters
from headscope.errors import BadInput
from tests.circuits.built import built_scope
from tests.tiny import VOCABULARY, tiny_tokenizer

FIRST = ("cat", "dog", "house", "tree")  # ask for [CLS]
ARTICLE = ("red", "green", "blue", "two")  # ask for "the"
PLAIN = ("sat", "ran", "went", "said", "was", "bought")  # ask for the token before


def _match(chance, behaviours, count):
    """q and k of a head: each behaviour has its own means, among noise that is correlated."""
    width = 16
    which = chance.choice(behaviours, count, p=chance.dirichlet([12] * behaviours))
    mixing = 0.4 * chance.standard_normal((2, width, width)) / width**0.5 + np.eye(width)
    q, k = (
        3 * chance.standard_normal((behaviours, width))[which]
        + chance.standard_normal((count, width)) @ mixing[side]
        for side in (0, 1)
    )
    return which, q * k


@pytest.mark.parametrize("behaviours", [2, 3])
def test_planted_mixtures_of_behaviours_are_split(behaviours):
    agree = []
    for seed in range(100, 106):
        which, products = _match(np.random.default_rng(seed), behaviours, 400)
        agree.append(adjusted_rand_score(which, clusters(products)))
    assert min(agree) >= 0.9, np.round(agree, 2)


@pytest.mark.parametrize("tails", [None, 5])
def test_a_single_behaviour_is_not_split(tails):
    """Correlated Gaussians of any shape, and heavier tails; at most 5 % are split."""
    split = 0
    for seed in range(40):
        chance = np.random.default_rng(seed)
        width, count = int(chance.choice([4, 16, 48])), int(chance.choice([100, 300]))
        mixing = chance.standard_normal((width, width)) * np.exp(chance.standard_normal(width))
        drawn = chance.standard_normal((count, width)) @ mixing
        if tails is not None:
            drawn *= np.sqrt(tails / chance.chisquare(tails, (count, 1)))
        split += clusters(drawn).max() > 0
    assert split <= 2


def test_vectors_that_are_all_one_are_one_cluster():
    assert clusters(np.ones((100, 4))).max() == 0


def planted_model():
    """One layer of two heads with rotary positions. Head 0-0 does what the word asks for: looks
    for [CLS], for "the", or at the token before. Head 0-1 always looks at the token before."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, head_dim=32, intermediate_size=8, tie_word_embeddings=False,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    known = tiny_tokenizer().get_vocab()
    angle = config.rope_parameters["rope_theta"] ** -(torch.arange(16) / 16)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.02 * torch.randn_like(parameter) if parameter.dim() > 1 else 1.0)
        table = model.model.embed_tokens.weight
        table.copy_(0.1 * torch.randn_like(table))
        table[:, :6] = 0.0
        table[:, [0, 5]] = 1.0
        for dim, words in enumerate((FIRST, ARTICLE, ("[CLS]",), ("the",)), start=1):
            rows = [known[word] for word in words]
            table[rows, dim], table[rows, 5] = 1.0, 0.0  # one mark each: keys of one length
        attention = model.model.layers[0].self_attn
        for head in range(2):
            q, k = (one.weight[32 * head : 32 * head + 32] for one in
                    (attention.q_proj, attention.k_proj))  # fmt: skip
            q.mul_(0.1)
            k.mul_(0.1)
            # key j turns by j; a query that starts one step back meets the token before it
            k[:4, 0] = 1.0
            q[:4, 0], q[16:20, 0] = 2 * angle[:4].cos(), -2 * angle[:4].sin()
            if head == 0:
                q[15, 1], k[15, 3] = 6.0, 3.0
                q[14, 2], k[14, 4] = 6.0, 3.0
    return model


@pytest.fixture(scope="module")
def planted():
    scope = built_scope(planted_model(), "planted")
    chance = np.random.default_rng(0)
    words = [*FIRST, *ARTICLE, *PLAIN]
    texts = [
        " ".join(["the", *chance.choice(words, chance.integers(8, 14))]) + "." for _ in range(80)
    ]
    return scope, hs.atlas(scope, texts, top=6, progress=False)


@pytest.fixture(scope="module")
def found(planted):
    scope, atlas = planted
    return hs.behaviours(scope, atlas, positions=500)


def test_a_head_of_three_behaviours_has_three_and_a_plain_head_one(found):
    assert found.heads == ((0, 0), (0, 1))
    assert found.map("behaviours").to_numpy().tolist() == [[3.0, 1.0]]
    points = found.points.query("layer == 0 and head == 0").merge(found.positions, on="position")
    asks = {**dict.fromkeys(FIRST, 0), **dict.fromkeys(ARTICLE, 1)}
    truth = [asks.get(word, 2) for word in points["query_token"]]
    assert adjusted_rand_score(truth, points["behaviour"]) >= 0.9
    assert found.of(0, 0)["share"].sum() == pytest.approx(1.0)


def test_behaviours_have_labels_examples_and_profiles_of_their_own(found):
    rows = found.of(0, 0)
    keys = {number: found.examples(0, 0, number, 5)["key_token"].mode()[0] for number in range(3)}
    assert {"[CLS]", "the"} <= set(keys.values())
    before = next(number for number in range(3) if keys[number] not in ("[CLS]", "the"))
    assert rows["label"][before] == "previous_word" and rows["lift"][before] > 2
    offsets = found.profiles.query(f"head == 0 and behaviour == {before} and profile == 'offset'")
    assert offsets.iloc[0]["name"] == "-1" and offsets.iloc[0]["lift"] > 1.5
    example = found.examples(0, 0, before, 1).iloc[0]
    assert "[[" in example["text"] and "<<" in example["text"]


def test_behaviours_are_saved_whole_and_opened_again(found, tmp_path):
    found.save(tmp_path / "b.parquet")
    again = hs.open(tmp_path / "b.parquet")
    assert again.table.equals(found.table)
    assert again.examples(0, 0, 1).equals(found.examples(0, 0, 1))


def test_behaviours_of_a_head_alone_are_those_among_all(planted, found):
    scope, atlas = planted
    alone = hs.behaviours(scope, atlas, 0, 0, positions=500)
    np.testing.assert_allclose(alone.of(0, 0)["share"], found.of(0, 0)["share"])
    with pytest.raises(BadInput, match="no behaviour 9"):
        alone.examples(0, 0, 9)
    with pytest.raises(BadInput, match="give layer= too"):
        hs.behaviours(scope, atlas, head=0)
