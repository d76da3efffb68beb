"""Predicted against measured change of weight when the top writer of a score is removed.

    python benchmarks/score_removals.py [MODEL] [--draws 200] [--seed 31]

The protocol was fixed before its first run. Each draw takes a document of the sample corpus (its
first 24 words), a head of layers 1 and up, a query from position 4, a key by its attention weight
(the first key, a sink, left out) and a side. The writer with the largest part on that side,
relative to the mean key, is removed from that side alone: one removal per draw. The figures are
Spearman's correlations of predicted and measured change of weight over all draws, with 95 %
intervals from 2,000 bootstrap samples of texts: of the part alone (norms held), and of the part
with the norms that follow at the scale they then have (`rescaled`).
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import spearmanr

import headscope as hs
from benchmarks._models import smollm2
from headscope.corpus.bad_data import Faults
from headscope.corpus.text.documents import Reader

WORDS, SAMPLES = 24, 2000


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("model", nargs="?", help="SmolLM2-135M-Instruct if left out")
    options.add_argument("--draws", type=int, default=200)
    options.add_argument("--seed", type=int, default=31)
    given = options.parse_args()
    chance = np.random.default_rng(given.seed)
    scope = hs.load(given.model or smollm2())
    layers, heads = scope.layers["decoder"], scope.heads["decoder"]
    documents = [one.text for one in Reader().documents("sample", Faults())]
    texts, held, rescaled, measured = [], [], [], []
    for _ in range(given.draws):
        at = int(chance.integers(len(documents)))
        text = " ".join(documents[at].split()[:WORDS])
        count = len(scope.encode([text]).tokens[0])
        layer, head = int(chance.integers(1, layers)), int(chance.integers(heads))
        query = int(chance.integers(min(4, count - 1), count))
        row = hs.circuits.score(scope, text, layer, head, query)
        weights = np.where(row.keys == 0, 0.0, row.weights)
        key = int(chance.choice(row.keys, p=weights / weights.sum()))
        side = ("query", "key")[int(chance.integers(2))]
        found = hs.circuits.score(
            scope, text, layer, head, query, key, relative_to="mean", verify=1
        )
        (one,) = [each for each in found.verified if each.side == side]
        texts.append(at)
        held.append(one.predicted)
        rescaled.append(one.rescaled)
        measured.append(one.measured)
    print(f"{scope.name}: {given.draws} draws of {len(set(texts))} texts")
    second, of = np.array(measured), np.array(texts)
    for name, one in (("norms held", held), ("norms rescaled", rescaled)):
        first = np.array(one)
        low, high = np.quantile([_sampled(chance, of, first, second) for _ in range(SAMPLES)],
                                [0.025, 0.975])  # fmt: skip
        apart = np.abs(first - second)
        print(
            f"{name}: Spearman {spearmanr(first, second).statistic:.3f} ({low:.3f} to {high:.3f}), "
            f"median miss of weight {np.median(apart):.4f}, largest {apart.max():.4f}"
        )


def _sampled(chance: np.random.Generator, texts: np.ndarray, *pair: np.ndarray) -> float:
    """The correlation over texts drawn anew, each with all of its draws."""
    names = np.unique(texts)
    rows = np.concatenate(
        [np.flatnonzero(texts == one) for one in chance.choice(names, len(names))]
    )
    return float(spearmanr(*(one[rows] for one in pair)).statistic)


if __name__ == "__main__":
    main()
