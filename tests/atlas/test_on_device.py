"""What a GPU does with a whole batch at once is what a processor does text by text."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

import headscope as hs
from headscope.corpus.text.segments import Segment
from headscope.statistics.distances import map_keeper
from headscope.statistics.distances.map_keeper import MapKeeper, _maps_of_batch, drawn_rows
from headscope.statistics.features.grid import Grid, grid_of, grids
from headscope.statistics.kernels.jensen_shannon import divergences
from headscope.statistics.kernels.recorder import Recorder
from headscope.statistics.kernels.scores import _picked, block_weights
from headscope.statistics.kernels.verified import rebuildable
from headscope.statistics.places import counting, counts, deciles
from headscope.statistics.places.device_tables import most_frequent
from headscope.statistics.places.heaviest import Heaviest, heaviest, heaviest_bits
from headscope.statistics.places.on_device import DeviceCounts
from headscope.statistics.survey.portion import Settings, text_batches
from tests.statistics.plain import eager_copy


@pytest.fixture(params=["tiny_bert", "tiny_llama", "tiny_deberta"])
def kept(request, corpus):
    scope = request.getfixturevalue(request.param)
    segments = [Segment(n, n, *pair) for n, pair in enumerate(corpus[:9])]
    batch = next(text_batches(scope, segments, Settings(())))
    on = grids(scope, batch)
    keeper = MapKeeper(on, Recorder(on, {}, rebuildable(scope)), share=0.5)
    scope.forward(batch.inputs.inputs, keeper, lazy=True)
    (kind,) = on
    return keeper, kind, on[kind]


def test_the_heaviest_keys_of_places_are_the_same_looked_up_together(kept):
    keeper, kind, grid = kept
    look_up = Heaviest(grid, keeper.kept[kind], 3)
    row, query = np.nonzero(grid.query.valid.numpy())
    codes = look_up.codes(np.arange(8)[None], row[::3, None], query[::3, None]).ravel()
    keys, weights = look_up(codes)
    again = look_up.together(codes)
    np.testing.assert_array_equal(keys, again[0])
    np.testing.assert_allclose(weights, again[1], atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_keys_are_picked_as_they_are_however_they_lie_in_memory(dtype):
    values = torch.randn(3, 5, 4, 10).to(dtype)
    at = (torch.tensor([2, 0, 2]), torch.tensor([1, 3, 0]))
    for held in (values, values[..., :8], values[..., 2:10], values[..., 1:9]):
        by_head = held.transpose(1, 2)
        assert torch.equal(_picked(by_head, *at), by_head[at])


def test_of_equal_weights_the_first_key_is_the_heaviest_on_a_device():
    """And a key without weight is none."""
    rows = torch.tensor([[0.0, 0.25, 0.5, 0.25], [0.5, 0.5, 0.0, 0.0], [-0.0, 0.0, 0.0, 1e-40]])
    bits, keys = heaviest_bits(rows, 3).unbind(1)
    assert keys.tolist() == [[2, 1, 3], [0, 1, -1], [3, -1, -1]]
    assert torch.equal(bits.view(torch.float32), rows.sort(1, descending=True).values[:, :3].abs())
    np.testing.assert_array_equal(keys, heaviest(rows.abs(), 3)[0])


def test_places_of_one_layer_alone_are_looked_up(kept):
    keeper, kind, grid = kept
    look_up = Heaviest(grid, keeper.kept[kind], 3)
    every = look_up(look_up.codes(np.arange(8), np.zeros(8, int), np.ones(8, int)))
    alone = look_up(look_up.codes(np.array([6]), np.zeros(1, int), np.ones(1, int)))
    np.testing.assert_array_equal(every[0][6], alone[0][0])
    np.testing.assert_array_equal(every[1][6], alone[1][0])  # to the bit
    assert look_up(np.zeros(0, dtype=np.int64))[0].shape == (0, 3)


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_heads_are_as_far_apart_over_all_texts_at_once(kept, share, monkeypatch):
    keeper, kind, grid = kept
    monkeypatch.setattr(keeper, "_share", share)
    monkeypatch.setattr(map_keeper, "ALL_GPU", 8 * grid.query.ids.shape[1] ** 2 * 2)  # two texts
    ((_, heads, sums, rows),) = keeper.distances()
    if share < 1:
        parts = list(_maps_of_batch(keeper.kept[kind], grid, len(heads), *drawn_rows(grid, 0.5, 0)))
    else:
        parts = list(map_keeper._all_maps_of_batch(keeper.kept[kind], grid, len(heads)))
        assert len(parts) > 1
    assert sum(part.shape[1] for part, _ in parts) == rows
    together = sum(divergences(part, lengths) for part, lengths in parts)
    np.testing.assert_allclose(together, sums.values, atol=1e-5 * rows)


@pytest.mark.parametrize(("causal", "dense"), [(False, 2**24), (True, 0)])
def test_pairs_are_counted_alike_on_a_device(tiny_bert, corpus, causal, dense, monkeypatch):
    """Two batches, more pairs than are kept; tables with a place for every code and without."""
    monkeypatch.setattr("headscope.statistics.places.device_tables.DENSE", dense)
    monkeypatch.setattr("headscope.statistics.places.on_device.MOST_TOGETHER", 20)
    monkeypatch.setattr(counts, "MOST_TOGETHER", 20)
    here, there = (counts.Counts(3, 200, pairs=10) for _ in range(2))
    device = DeviceCounts(there, torch.device("cpu"))
    chance = torch.Generator().manual_seed(0)
    for start in (0, 5):
        tokens = [tiny_bert.read(*pair).part().query for pair in corpus[start : start + 5]]
        grid = grid_of(tokens, causal=causal)
        lengths, keys = grid.query.valid.sum(1).tolist(), []
        keys = [grid.key.ids[row, :n].numpy() for row, n in enumerate(lengths)]
        counting._count_together(here, grid, lengths, keys)
        device.add_together(grid)
        query = torch.randint(0, 6, (130,), generator=chance)
        key = torch.randint(0, 200, (3, 130), generator=chance)
        largest = torch.rand(3, 130, generator=chance)
        device.add_pairs(query, key, largest)
        here.add_pairs(query.numpy(), key.numpy(), largest.numpy())
        device.add_offsets(key % counts.OFFSETS)
        here.add_offsets(key.numpy() % counts.OFFSETS)
    device.settle()
    for name in ("queries", "keys", "pairs", "together"):
        for of in ("codes", "count", "weight", "square"):
            ours, theirs = (getattr(getattr(one, name), of) for one in (there, here))
            np.testing.assert_array_equal(ours, theirs, err_msg=f"{name}.{of}")
    np.testing.assert_array_equal(there.offsets, here.offsets)
    np.testing.assert_array_equal(there.lost, here.lost)
    assert there.lost.min() > 0


def test_the_most_frequent_of_each_group_are_those_of_a_sort():
    chance = np.random.default_rng(0)
    count, group = chance.geometric(0.3, 500), np.sort(chance.integers(0, 7, 500))
    group[group == 3] = 4  # nobody is in one of them
    group.sort()
    total = int(np.bincount(group, count).max())
    for most in (1, 5, 40, 400):
        kept, gone = most_frequent(*map(torch.from_numpy, (count, group)), 7, most, total)
        for number in range(7):
            mine = np.flatnonzero(group == number)
            first = mine[np.argsort(-count[mine], kind="stable")]
            np.testing.assert_array_equal(np.sort(first[:most]), mine[kept.numpy()[mine]])
            assert int(gone[number]) == max(count[first[most:]], default=0)


def test_values_are_counted_in_the_same_bins_on_a_device():
    values = [torch.rand(4, 3, 5) * 3 - 1, torch.full((4, 3, 5), torch.nan)]
    values[0][0, 1] = torch.nan
    here = np.zeros((3, 2, deciles.BINS), dtype=np.int64)
    there = torch.zeros(3, 2, deciles.BINS + 1, dtype=torch.long)
    for into in (here, there):
        deciles.count_values(into, values, [(0.0, 1.0), (0.0, 1.0)])
    np.testing.assert_array_equal(there[..., : deciles.BINS].numpy(), here)
    assert here.sum() == 55


@pytest.mark.parametrize("name", ["tiny_bert", "tiny_llama"])
def test_the_weights_of_short_texts_are_kept_and_those_of_long_ones_made_again(name, request):
    scope = request.getfixturevalue(name)
    for text, is_kept in (("the cat sat", True), ("the cat sat on " * 8, False)):
        segments = [Segment(0, 0, text), Segment(1, 1, "one two")]
        batch = next(text_batches(scope, segments, Settings(())))
        on = grids(scope, batch)
        keeper = MapKeeper(on, Recorder(on, {}, rebuildable(scope)))
        scope.forward(batch.inputs.inputs, keeper, lazy=True)
        ((kind, kept),) = keeper.kept.items()
        assert [own is not None for _, own in kept] == [is_kept] * len(kept)
        maps = eager_copy(scope)(**batch.inputs.inputs, output_attentions=True).attentions
        for (call, own), truth in zip(kept, maps, strict=True):
            rows = own
            if own is None:
                rows = block_weights(call, on[kind], slice(0, 2), slice(0, truth.shape[2]))
            real = on[kind].query.valid
            torch.testing.assert_close(
                rows.transpose(1, 2)[real], truth.detach().transpose(1, 2)[real],
                atol=1e-6, rtol=0,
            )  # fmt: skip


@pytest.mark.usefixtures("one_thread")
def test_an_atlas_counted_as_on_a_gpu_is_the_same(tiny_bert, corpus, monkeypatch):
    """Several batches in each portion; keys' weights are made by other products there."""
    asked = {"top": 5, "chunk": 10, "batch_tokens": 100, "progress": False}
    here = hs.atlas(tiny_bert, corpus, **asked)
    monkeypatch.setattr(Grid, "on_gpu", True)
    there = hs.atlas(tiny_bert, corpus, **asked)
    assert there.names == here.names
    for name in here.names:
        one, other = (of.frame(name) for of in (here, there))
        if "weights" in one:
            for ours, theirs in zip(one.pop("weights"), other.pop("weights"), strict=True):
                np.testing.assert_allclose(ours, theirs, atol=1e-6)
        pd.testing.assert_frame_equal(one, other, rtol=1e-6)
