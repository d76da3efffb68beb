"""Heads arranged by similarity of attention: a map in the plane, groups, and a test of layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

STARTS = 5  # random starts of the map beside the classical one, as in the paper
STEPS = 1000
PERMUTATIONS = 10_000


@dataclass(frozen=True)
class Clusters:
    """Clark et al. 2019, section 6 (their figure 6), with a test of its claim about layers."""

    heads: tuple[tuple[int, int], ...]
    positions: Array  # n 2: metric multidimensional scaling of the distances
    stress: float  # share of the squared distances missing in the map
    groups: NDArray[np.int64]  # n: group of each head, from 1, by average linkage
    within: float  # mean distance between heads of one layer
    between: float  # … and between heads of different layers
    p_value: float  # how often shuffled layers are at least as far apart

    def plot(self, values: Sequence[float] | NDArray[np.floating] | None = None) -> Figure:
        """The map, coloured by layer or by any number per head."""
        from headscope.figures.of_heads.head_scatter import head_scatter

        layers = np.array([layer for layer, _ in self.heads], dtype=float)
        shown = layers if values is None else np.asarray(values, dtype=float).ravel()
        if len(shown) != len(self.heads):
            raise BadInput(f"Give one value per head: {len(self.heads)}, not {len(shown)}.")
        return head_scatter(
            self.positions,
            shown,
            "layer" if values is None else "value",
            title=f"{len(self.heads)} heads, near where they attend alike",
            names=[f"{layer}-{head}" for layer, head in self.heads],
            whole=values is None,
        )


def cluster(
    heads: Sequence[tuple[int, int]], distances: Array, *, n: int | None, seed: int
) -> Clusters:
    """Arrange heads by a symmetric matrix of distances."""
    positions, stress = scale(distances, seed)
    within, between, p_value = layers_apart(heads, distances, seed)
    return Clusters(tuple(heads), positions, stress, group(distances, n), within, between, p_value)


def scale(distances: Array, seed: int, starts: int = STARTS) -> tuple[Array, float]:
    """Metric multidimensional scaling to the plane by majorisation (SMACOF): the best of the
    classical start and some random ones."""
    from sklearn.manifold import smacof

    n = len(distances)
    if n < 3:
        raise BadInput(f"This model has {n} heads; a map of heads needs at least three.")
    distances = (distances + distances.T) / 2  # symmetric up to rounding, which smacof refuses
    chance = np.random.default_rng(seed)
    spread = float(distances.mean()) or 1.0
    tried = [_classical(distances), *(chance.normal(0, spread, (starts, n, 2)))]
    found: list[Any] = [
        smacof(distances, init=start, n_init=1, max_iter=STEPS, eps=1e-10) for start in tried
    ]
    best, stress = min(found, key=lambda pair: pair[1])
    best = best - best.mean(axis=0)
    # rotate the map so that its longest side is horizontal and signs do not depend on the start
    _, _, axes = np.linalg.svd(best, full_matrices=False)
    turned = best @ axes.T
    turned *= np.where(np.abs(turned.min(axis=0)) > turned.max(axis=0), -1.0, 1.0)
    return turned, stress / max(float((distances**2).sum() / 2), 1e-300)


def group(distances: Array, n: int | None, most: float = 1.0) -> NDArray[np.int64]:
    """Groups by average linkage; without `n`, the number with the best separation.

    The best separation is often a few heads apart from all others, which says little about the
    rest: a cut with a group of more than the share `most` of the heads is used only if there is no
    other.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform
    from sklearn.metrics import silhouette_score

    tree = linkage(squareform(distances, checks=False), method="average")
    if n is not None:
        if not 1 <= n <= len(distances):
            raise BadInput(f"Between 1 and {len(distances)} groups can be made, not {n}.")
        return fcluster(tree, n, criterion="maxclust").astype(np.int64)
    cuts = [fcluster(tree, k, criterion="maxclust") for k in range(2, min(13, len(distances)))]
    even = [labels for labels in cuts if np.bincount(labels).max() <= most * len(labels)]

    def fit(labels: NDArray[np.int64]) -> float:
        several = 1 < len(np.unique(labels)) < len(labels)
        return silhouette_score(distances, labels, metric="precomputed") if several else -1.0

    return max(even or cuts, key=fit).astype(np.int64)


def layers_apart(
    heads: Sequence[tuple[int, int]],
    distances: Array,
    seed: int,
    permutations: int = PERMUTATIONS,
) -> tuple[float, float, float]:
    """Mean distance within and between layers, and the share of shuffles that do as well."""
    layers = np.array([layer for layer, _ in heads])
    above = np.triu_indices(len(layers), 1)
    values = distances[above]

    def gap(of: NDArray[np.int64]) -> tuple[float, float]:
        same = (of[:, None] == of[None, :])[above]
        if same.all() or not same.any():
            return float("nan"), float("nan")
        return float(values[same].mean()), float(values[~same].mean())

    within, between = gap(layers)
    if np.isnan(within):
        return within, between, float("nan")
    chance = np.random.default_rng(seed)
    count = int((layers[:, None] == layers[None, :])[above].sum())
    total, hits = values.sum(), 0
    for _ in range(permutations):
        shuffled = chance.permutation(layers)
        near = values[(shuffled[:, None] == shuffled[None, :])[above]].sum()
        apart = (total - near) / (len(values) - count) - near / count
        hits += apart >= between - within - 1e-12
    return within, between, (hits + 1) / (permutations + 1)


def _classical(distances: Array) -> Array:
    n = len(distances)
    centre = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-centre @ (distances**2) @ centre / 2)
    return vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0))
