"""Probes over all heads, on maps whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.corpus.bad_data import Faults
from headscope.corpus.treebanks.treebank import Treebank
from headscope.errors import BadInput, HeadscopeError
from headscope.probes.all_heads.maps import MapBatch, MapStore, store_maps
from headscope.probes.all_heads.networks import AttentionProbe, DistancesProbe, WordsProbe
from headscope.probes.all_heads.training import carried, fit, right_branching, score
from headscope.probes.random_weights import with_random_weights
from tests.full_disk import full_beyond
from tests.probes.conftest import SENTENCES


def made_store(batches=6, size=8, words=7, maps=5, telling=2, direction=0, seed=0):
    """Random trees; map `telling` knows them (turned round for direction 1), others are noise."""
    generator = torch.Generator().manual_seed(seed)
    store = MapStore()
    for _ in range(batches):
        heads = torch.zeros(size, words, dtype=torch.long)
        for row in range(size):
            order = torch.randperm(words, generator=generator)
            for place in range(1, words):
                before = int(torch.randint(place, (1,), generator=generator))
                heads[row, order[place]] = order[before] + 1
        tree = torch.nn.functional.one_hot(heads, words + 1).float()
        noise = torch.rand(size, maps, words, words, generator=generator)
        noise[:, telling] = tree[..., 1:] if direction == 0 else tree[..., 1:].mT
        root = torch.rand(size, maps, words, 4, generator=generator) * 0.1
        root[:, telling] = tree[..., :1]
        every = [torch.ones(size, words, dtype=torch.bool) for _ in range(3)]
        numbers = torch.randint(1, 9, (size, words), generator=generator, dtype=torch.int32)
        store.add(MapBatch(noise.half(), root.half(), heads, *every, numbers))
    return store


@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize("kind", ["attention", "words"])
def test_a_probe_finds_the_map_that_knows_the_tree(direction, kind):
    train, dev = made_store(direction=direction), made_store(2, direction=direction, seed=1)
    torch.manual_seed(0)
    probe = AttentionProbe(5) if kind == "attention" else WordsProbe(5, torch.randn(9, 6))
    probe.learning_rate = 0.1  # so little data wants large steps
    fit(probe, train, dev, epochs=12, patience=12)
    assert score(probe, dev).uas > 0.97
    lift = carried(probe, dev)
    assert int(lift.argmax()) == 2 + 5 * direction


def test_training_with_a_seed_repeats_itself():
    reached = []
    for _ in range(2):
        torch.manual_seed(3)
        probe = WordsProbe(5, torch.ones(9, 6))
        fit(probe, made_store(), made_store(2, seed=1), seed=7, epochs=2)
        reached.append(probe.dependent.weight.detach().clone())
    torch.testing.assert_close(reached[0], reached[1], rtol=0, atol=0)


def test_training_stops_when_the_dev_score_no_longer_rises():
    assert fit(AttentionProbe(5), made_store(), made_store(2, seed=1), epochs=50) < 50


def test_contributions_add_up_to_the_scores():
    batch = made_store(1)[0]
    torch.manual_seed(0)
    words = WordsProbe(5, torch.randn(9, 6))
    attention = AttentionProbe(5)
    torch.nn.init.normal_(attention.weight)
    off = ~torch.eye(7, 8, dtype=torch.bool).roll(1, dims=1)  # a word is no candidate for itself
    for probe in (words, attention):
        summed = probe.contributions(batch).sum(dim=2)
        torch.testing.assert_close(summed[:, off], probe(batch)[:, off])


def test_distances_learn_a_fixed_offset_and_nothing_of_attention():
    store = made_store(4)
    following = []
    for batch in store:
        heads = (torch.arange(7) + 2).clamp(max=7).expand(8, 7).clone()
        heads[:, -1] = 0
        following.append(MapBatch(**{**vars(batch), "heads": heads}))
    right = MapStore()
    for batch in following:
        right.add(batch)
    probe = DistancesProbe(torch.zeros(9, 3))
    fit(probe, right, right, epochs=30, patience=30)
    assert score(probe, right).uas > 0.95
    assert score(right_branching, right).uas == 1.0


def test_a_disk_too_full_for_maps_is_told_in_a_sentence(tiny_bert):
    told = pytest.raises(HeadscopeError, match=r"could not be written .*; free some space")
    with told, full_beyond(1000):
        store_maps(tiny_bert, SENTENCES, Faults())


def test_stored_maps_are_the_models_own_and_hold_the_specials(tiny_bert):
    with store_maps(tiny_bert, SENTENCES, Faults()) as store:
        sizes = [len(batch.heads) for batch in store]
        batch = store[store.batches - 1]
    assert sum(sizes) == 3
    reading = tiny_bert.read(list(SENTENCES[2].words)).words().attention.values  # l h t t
    maps = reading[:, :, 1:-1, 1:-1].reshape(8, 7, 7)
    row = int((batch.heads[:, 0] == 3).nonzero()[0, 0])  # DOG: the → dog
    np.testing.assert_allclose(batch.maps[row, :, :7, :7], maps, atol=1e-3)
    opening = reading[:, :, 1:-1, 0].reshape(8, 7)
    closing_back = reading[:, :, -1, 1:-1].reshape(8, 7)
    np.testing.assert_allclose(batch.root[row, :, :7, 0], opening, atol=1e-3)
    np.testing.assert_allclose(batch.root[row, :, :7, 3], closing_back, atol=1e-3)


def test_a_decoder_keeps_both_directions_with_the_future_masked(tiny_gpt2):
    with store_maps(tiny_gpt2, SENTENCES, Faults()) as store:
        for batch in store:
            assert not torch.triu(batch.maps, diagonal=1).any()
            assert torch.tril(batch.maps, diagonal=-1).any()


def test_the_control_keeps_embeddings_and_nothing_else(tiny_bert):
    control = with_random_weights(tiny_bert)
    trained, fresh = tiny_bert.model.state_dict(), control.model.state_dict()
    same = {name for name in trained if torch.equal(trained[name], fresh[name])}
    assert "bert.embeddings.word_embeddings.weight" in same
    assert not any(".query.weight" in name for name in same)
    assert tiny_bert.model is not control.model


def test_every_probe_reports_uas_with_an_interval(tiny_bert):
    result = hs.probe.all_heads(
        tiny_bert, SENTENCES * 4, SENTENCES, SENTENCES, vectors="embeddings", epochs=2
    )
    assert list(result.summary["probe"]) == [
        "right-branching", "distances+words", "random weights+words", "random weights",
        "attention", "attention+words",
    ]  # fmt: skip
    summary = result.summary
    inside = (summary["low"] <= summary["uas"]) & (summary["uas"] <= summary["high"])
    assert (inside | summary["low"].isna()).all()  # too few sentences for an interval
    assert len(result.heads) == 2 * 2 * 8  # two probes, both directions, eight heads
    with pytest.raises(BadInput, match="no probe 'syntax'"):
        hs.probe.all_heads(tiny_bert, SENTENCES, SENTENCES, SENTENCES, probes=["syntax"])


@pytest.mark.slow
def test_random_weights_stay_far_below_a_trained_model(minilm, shared_data):
    folder = shared_data / "ud_english_ewt"
    parts = [
        Treebank(folder / "en_ewt-ud-train.conllu.xz", limit=500),
        Treebank(folder / "en_ewt-ud-dev.conllu", limit=150),
        Treebank(folder / "en_ewt-ud-test.conllu", limit=150),
    ]
    result = hs.probe.all_heads(minilm, *parts, probes=["attention", "random weights"], epochs=6)
    uas = result.summary.set_index("probe")["uas"]
    assert uas["attention"] > uas["random weights"] + 0.2
