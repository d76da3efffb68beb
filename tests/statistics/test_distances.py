"""Distances between heads against the published formula, and what is made of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.errors import BadInput
from headscope.statistics.distances.clusters import cluster, group, layers_apart, scale
from headscope.statistics.kernels.jensen_shannon import divergences
from tests.statistics.plain import eager_copy, maps_of

TEXTS = [
    ("I went to the store. The cat sat on the mat.", "At the store, he ran."),
    ("red green blue house tree, that it was in of one two three.", None),
    ("the cat sat on the cat", None),
]


def published(maps: np.ndarray) -> np.ndarray:
    """Clark et al. 2019: Σ over rows of JS(a, b), rows smoothed by 0.001, natural logarithm."""
    n = maps.shape[-1]
    smooth = maps * 0.999 + 0.001 / n
    found = np.zeros((len(maps), len(maps)))
    for i, a in enumerate(smooth):
        for j, b in enumerate(smooth):
            m = (a + b) / 2
            found[i, j] = ((a * np.log(a / m)).sum() + (b * np.log(b / m)).sum()) / 2
    return found


@pytest.mark.parametrize(("rows", "keys"), [(7, 7), (40, 40), (3, 700), (1, 2)])
def test_divergences_equal_the_published_formula(rows, keys):
    torch.manual_seed(keys)
    sharpness = torch.tensor([0.0, 0.5, 2.0, 8.0, 50.0, 0.5, 2.0])[:, None, None]
    maps = (torch.randn(7, rows, keys) * sharpness).softmax(-1)
    maps[6, :, :-1] = 0.0  # a head that looks at one key alone
    maps[6, :, -1] = 1.0
    expected = published(maps.double().numpy())
    np.testing.assert_allclose(divergences(maps, keys) / rows, expected / rows, atol=1e-5)


def test_half_precision_maps_are_compared_as_well():
    maps = torch.randn(5, 30, 30).softmax(-1).half()
    expected = published(maps.double().numpy())
    np.testing.assert_allclose(divergences(maps, 30) / 30, expected / 30, atol=1e-5)


@pytest.mark.parametrize("family", ["tiny_bert", "tiny_llama", "tiny_deberta"])
def test_a_survey_sums_divergences_over_all_rows_of_all_texts(family, request):
    scope = request.getfixturevalue(family)
    found = hs.survey(scope, TEXTS, ["entropy"], distances=True, progress=False).distances()
    model, total, rows = eager_copy(scope), 0.0, 0
    for text, pair in TEXTS:
        maps = next(iter(maps_of(scope, model, text, pair).values()))
        flat = maps.alpha.reshape(-1, maps.n, maps.n)
        total, rows = total + published(flat), rows + maps.n
    np.testing.assert_allclose(found.values, total / rows, atol=1e-5)
    np.testing.assert_array_equal(np.asarray(found), found.values)
    assert found.heads[0] == (0, 0) and len(found.heads) == len(total)


def planted(layers: int = 4, heads: int = 6) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Heads of a layer stand together in the plane, layers far apart."""
    chance = np.random.default_rng(0)
    centres = np.array([[0, 0], [10, 0], [0, 10], [10, 10]], dtype=float)[:layers]
    points = np.repeat(centres, heads, axis=0) + chance.normal(0, 0.5, (layers * heads, 2))
    distances = np.sqrt(((points[:, None] - points[None]) ** 2).sum(-1))
    return [(layer, head) for layer in range(layers) for head in range(heads)], distances


def test_scaling_recovers_points_of_the_plane():
    _, distances = planted()
    positions, stress = scale(distances, seed=0)
    again = np.sqrt(((positions[:, None] - positions[None]) ** 2).sum(-1))
    np.testing.assert_allclose(again, distances, atol=1e-2)
    assert stress < 1e-6


def test_planted_groups_are_found_with_and_without_their_number():
    heads, distances = planted()
    layers = [layer for layer, _ in heads]
    for labels in (group(distances, 4), group(distances, None)):
        assert len(set(zip(layers, labels, strict=True))) == 4 == len(set(labels))


def test_the_permutation_test_tells_layers_that_cluster_from_those_that_do_not():
    heads, distances = planted()
    within, between, p_value = layers_apart(heads, distances, seed=0)
    assert within < between and p_value < 0.001
    shuffled = np.random.default_rng(1).permutation(len(heads))
    _, _, p_value = layers_apart([heads[i] for i in shuffled], distances, seed=0)
    assert p_value > 0.01


def test_clusters_are_the_same_for_the_same_seed_and_can_be_drawn():
    heads, distances = planted()
    one, two = (cluster(heads, distances, n=4, seed=3) for _ in range(2))
    np.testing.assert_array_equal(one.positions, two.positions)
    for figure in (one.plot(), one.plot(np.arange(24))):
        dots = np.concatenate([dots.get_offsets() for dots in figure.axes[0].collections])
        order = np.lexsort(dots.T)
        np.testing.assert_allclose(dots[order], one.positions[np.lexsort(one.positions.T)])
    with pytest.raises(BadInput, match="one value per head: 24, not 3"):
        one.plot([1, 2, 3])


def test_asking_for_distances_that_were_not_measured_says_how_to_get_them(tiny_bert):
    with pytest.raises(BadInput, match="distances=True"):
        hs.survey(tiny_bert, ["the cat"], ["entropy"], progress=False).distances()


def test_distances_turn_into_an_array(tiny_bert):
    survey = hs.survey(tiny_bert, ["a cat sat", "the dog ran"], ["entropy"], distances=True)
    distances = survey.distances()
    assert np.asarray(distances).shape == (8, 8)
    assert (np.asarray(distances) == distances.values).all()


def test_any_number_of_threads_gives_the_same_divergences_to_the_last_bit():
    maps = torch.softmax(4 * torch.randn(40, 30, 200, generator=torch.manual_seed(1)), dim=-1)
    threads = torch.get_num_threads()
    found = []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            found.append(divergences(maps, 200))
    finally:
        torch.set_num_threads(threads)
    assert (found[0] == found[1]).all() and (found[0] == found[2]).all()
