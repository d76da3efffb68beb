"""The heaviest keys of single rows, text by text or of a whole batch at once as on a GPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.atlas.collecting.heaviest import heaviest, heaviest_keys
from headscope.corpus.text.batches import Encoder
from headscope.corpus.text.segments import Segment
from headscope.statistics.distances import map_keeper
from headscope.statistics.distances.map_keeper import MapKeeper, _maps_of_batch, drawn_rows
from headscope.statistics.features.grid import Grid, grids
from headscope.statistics.kernels.jensen_shannon import divergences
from headscope.statistics.kernels.recorder import Recorder
from headscope.statistics.kernels.scores import _picked, block_weights
from headscope.statistics.kernels.verified import rebuildable
from tests.atlas.alike import check_alike
from tests.statistics.plain import eager_copy


@pytest.fixture(params=["tiny_bert", "tiny_llama", "tiny_deberta"])
def kept(request, corpus):
    scope = request.getfixturevalue(request.param)
    segments = [Segment(n, n, *pair) for n, pair in enumerate(corpus[:9])]
    batch = next(Encoder.of(scope, 2048).batches(segments))
    on = grids(scope, batch)
    keeper = MapKeeper(on, Recorder(on, {}, rebuildable(scope)), share=0.5)
    scope.forward(batch.on(scope.device), keeper, lazy=True)
    (kind,) = on
    return keeper, kind, on[kind]


def asked(grid, heads):
    """Every third query with every head."""
    row, query = np.nonzero(grid.query.valid.numpy())
    every = np.broadcast_arrays(np.arange(heads), row[::3, None], query[::3, None])
    return tuple(of.ravel().astype(np.int64) for of in every)


def test_the_heaviest_keys_are_those_of_the_whole_maps(kept):
    keeper, kind, grid = kept
    maps = torch.cat([
        block_weights(call, grid, slice(0, 9), slice(0, grid.query.ids.shape[1]))
        if own is None else own for call, own in keeper.kept[kind]
    ], 1)  # fmt: skip
    head, row, query = asked(grid, maps.shape[1])
    keys, weights = heaviest_keys(grid, keeper.kept[kind], (head, row, query), 3)
    truth = maps[row, head, query].sort(dim=1, descending=True, stable=True)
    np.testing.assert_allclose(weights, truth.values[:, :3], atol=1e-6)
    apart = (truth.values[:, :3] - truth.values[:, 1:4] > 1e-5).all(1).numpy()
    np.testing.assert_array_equal(keys[apart], truth.indices[:, :3].numpy()[apart])


def test_a_gpu_looks_up_the_same_keys_for_all_texts_together(kept, monkeypatch):
    keeper, kind, grid = kept
    rows = asked(grid, 8)
    keys, weights = heaviest_keys(grid, keeper.kept[kind], rows, 3)
    monkeypatch.setattr(Grid, "on_gpu", True)
    again = heaviest_keys(grid, keeper.kept[kind], rows, 3, most=2**14)  # several steps a layer
    np.testing.assert_array_equal(keys, again[0])
    np.testing.assert_allclose(weights, again[1], atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_keys_are_picked_as_they_are_however_they_lie_in_memory(dtype):
    values = torch.randn(3, 5, 4, 10).to(dtype)
    at = (torch.tensor([2, 0, 2]), torch.tensor([1, 3, 0]))
    for held in (values, values[..., :8], values[..., 2:10], values[..., 1:9]):
        by_head = held.transpose(1, 2)
        assert torch.equal(_picked(by_head, *at), by_head[at])


def test_of_equal_weights_the_first_key_is_the_heaviest():
    """And a key without weight is none."""
    rows = torch.tensor([[0.0, 0.25, 0.5, 0.25], [0.5, 0.5, 0.0, 0.0], [-0.0, 0.0, 0.0, 1e-40]])
    keys, weights = heaviest(rows, 3)
    assert keys.tolist() == [[2, 1, 3], [0, 1, -1], [3, -1, -1]]
    assert torch.equal(weights, rows.sort(1, descending=True).values[:, :3].abs())


def test_rows_of_one_layer_alone_are_looked_up(kept):
    keeper, kind, grid = kept
    none = np.zeros(8, dtype=np.int64)
    every = heaviest_keys(grid, keeper.kept[kind], (np.arange(8), none, none + 1), 3)
    one = (np.array([6]), none[:1], none[:1] + 1)
    alone = heaviest_keys(grid, keeper.kept[kind], one, 3)
    np.testing.assert_array_equal(every[0][6], alone[0][0])
    empty = (none[:0], none[:0], none[:0])
    assert heaviest_keys(grid, keeper.kept[kind], empty, 3)[0].shape == (0, 3)


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


@pytest.mark.parametrize("name", ["tiny_bert", "tiny_llama"])
def test_the_weights_of_short_texts_are_kept_and_those_of_long_ones_made_again(name, request):
    scope = request.getfixturevalue(name)
    for text, is_kept in (("the cat sat", True), ("the cat sat on " * 8, False)):
        segments = [Segment(0, 0, text), Segment(1, 1, "one two")]
        batch = next(Encoder.of(scope, 2048).batches(segments))
        on = grids(scope, batch)
        keeper = MapKeeper(on, Recorder(on, {}, rebuildable(scope)))
        scope.forward(batch.on(scope.device), keeper, lazy=True)
        ((kind, kept),) = keeper.kept.items()
        assert [own is not None for _, own in kept] == [is_kept] * len(kept)
        maps = eager_copy(scope)(**batch.on(scope.device), output_attentions=True).attentions
        for (call, own), truth in zip(kept, maps, strict=True):
            rows = own
            if own is None:
                rows = block_weights(call, on[kind], slice(0, 2), slice(0, truth.shape[2]))
            real = on[kind].query.valid
            torch.testing.assert_close(
                rows.transpose(1, 2)[real], truth.detach().transpose(1, 2)[real],
                atol=1e-6, rtol=0,
            )  # fmt: skip


def test_an_atlas_looked_up_as_on_a_gpu_is_the_same(tiny_bert, corpus, monkeypatch):
    """Several batches in each portion; keys' weights are made by other products there."""
    options = {"top": 5, "chunk": 10, "batch_tokens": 100, "progress": False}
    here = hs.atlas(tiny_bert, corpus, **options)
    monkeypatch.setattr(Grid, "on_gpu", True)
    check_alike(here, hs.atlas(tiny_bert, corpus, **options))
