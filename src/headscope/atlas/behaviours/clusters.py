"""How many clusters vectors fall into, with a single Gaussian as the null.

A group is cut in two by 2-means of its whitened principal components. The cut is kept if it leaves
less variance within the halves than cuts of Gaussian draws do; then each half is tried in turn (Liu
et al. 2008, significance of clustering). Whitened, every Gaussian is the same, so the null depends
on nothing but the number of vectors and of components. With many vectors the smallest departure
from a Gaussian is significant. So a cut must also explain a share of the vectors' squared length:
halves that match nearly the same are one behaviour.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

RATE = 0.001  # chance that a cut of a single Gaussian is kept; products are not quite Gaussian
FEWEST = 20  # fewest vectors in a cluster
LEAST = 0.05  # smallest share of all vectors in a cluster
EXPLAINED = 0.05  # smallest share of the squared length of all vectors that a cut explains
COMPONENTS = 8
VARIANCE = 0.9  # share of the variance that the components keep, if fewer suffice
DRAWS = 40  # Gaussian draws for the null
STARTS = 12  # starts of 2-means

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


def clusters(vectors: Floats, seed: int = 0) -> Numbers:
    """The cluster of each vector (n d), counted from 0, the largest first."""
    least = max(FEWEST, int(LEAST * len(vectors)))
    enough = EXPLAINED * float((vectors**2).sum())
    found = np.zeros(len(vectors), dtype=np.int64)
    waiting = [np.arange(len(vectors))]
    groups: list[Numbers] = []
    while waiting:
        group = waiting.pop()
        halves = _halves(vectors[group], least, enough, seed)
        if halves is None:
            groups.append(group)
        else:
            waiting += [group[halves], group[~halves]]
    if len(groups) == 1:
        return found
    for number, group in enumerate(groups):
        found[group] = number
    found = _settled(vectors, found, seed)
    order = np.argsort(-np.bincount(found), kind="stable")
    return np.argsort(order)[found]


def components(vectors: Floats, most: int = COMPONENTS) -> Floats:
    """n × c: the principal components that carry the variance, `most` at most."""
    centred = vectors - vectors.mean(0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    if not s.size or s[0] <= 1e-9 * (1 + np.abs(vectors).max()):
        return np.zeros((len(vectors), 0))
    kept = np.cumsum(s**2) / np.sum(s**2)
    count = min(int(np.searchsorted(kept, VARIANCE)) + 1, most)
    count = min(count, int((s > 1e-6 * s[0]).sum()))
    return u[:, :count] * s[:count]


def _halves(vectors: Floats, least: int, enough: float, seed: int) -> NDArray[np.bool_] | None:
    """Which vectors are in the first half of the cut; None if the cut is not kept."""
    if len(vectors) < 2 * least:
        return None
    parts = components(vectors)
    if not parts.shape[1]:
        return None
    white = parts / parts.std(0)
    within, labels = _cut(white, seed)
    first = labels == 0
    if min(first.sum(), (~first).sum()) < least:
        return None
    apart = vectors[first].mean(0) - vectors[~first].mean(0)
    if first.sum() * (~first).sum() / len(first) * float(apart @ apart) < enough:
        return None
    null = _null(_rounded(len(white)), white.shape[1])
    z = (within - null.mean()) / null.std(ddof=1)
    from scipy.special import ndtr

    return first if ndtr(z) < RATE else None


def _cut(white: Floats, seed: int) -> tuple[float, Numbers]:
    """The share of the variance left within the two halves, and which half each vector is in."""
    from sklearn import cluster

    two_means: Any = cluster.KMeans
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer distinct vectors than halves
        made = two_means(2, n_init=STARTS, random_state=seed).fit(white)
    return float(made.inertia_) / float((white**2).sum()), made.labels_.astype(np.int64)


@lru_cache(maxsize=256)
def _null(count: int, width: int) -> Floats:
    """The share of variance that cuts of Gaussian draws leave within their halves."""
    chance = np.random.default_rng(0)
    found: list[float] = []
    for _ in range(DRAWS):
        drawn = chance.standard_normal((count, width))
        drawn = drawn - drawn.mean(0)
        u = np.linalg.svd(drawn, full_matrices=False)[0]
        found.append(_cut(u / u.std(0), 0)[0])
    return np.array(found)


def _rounded(count: int) -> int:
    """The size rounded down to one of a few, so that nulls are shared; fewer draws spread wider."""
    return int(2 ** (np.floor(2 * np.log2(count)) / 2))


def _settled(vectors: Floats, found: Numbers, seed: int) -> Numbers:
    """Vectors that a straight cut put on the wrong side go where a mixture puts them."""
    from sklearn.mixture import GaussianMixture

    parts = components(vectors)
    white = parts / parts.std(0)
    count = int(found.max()) + 1
    means = np.stack([white[found == one].mean(0) for one in range(count)])
    made: Any = GaussianMixture(
        count, covariance_type="full", means_init=means, reg_covar=1e-3, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = made.fit_predict(white).astype(np.int64)
    # a mixture that gives a cluster up is no better than the cuts
    sizes = np.bincount(again, minlength=count)
    return again if sizes.min() >= FEWEST else found
