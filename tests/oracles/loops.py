"""Direct loops in numpy and float64: the softmax from q and k, and sums over weights."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

import headscope as hs
from tests.oracles.comparison import Comparison
from tests.oracles.subjects import every, read, smollm2, tiny

TITLE = "loops in numpy, float64"
PACKAGES = ()


def compare() -> Iterator[Comparison]:
    for name, scope in every():
        reading = read(scope)
        if any(part.why_no_qk is not None for part in reading.parts.values()):
            continue
        part = reading.part("decoder" if "decoder" in reading.kinds else None)
        layer = part.layers[-1]
        assert layer.q is not None and layer.k is not None and layer.scaling is not None
        theirs = softmax(layer, len(part.query), len(part.key))
        yield Comparison.of(
            name, "softmax of q and k, last layer", part.weights(layer.layer), theirs, 5e-6
        )
    for name, scope in (("SmolLM2", smollm2()), ("random GPT-2", tiny("GPT-2"))):
        if scope is not None:
            yield from _measures(name, scope)


def softmax(layer, queries: int, keys: int) -> np.ndarray:
    """Head by head and row by row, from what the reading says went into it."""
    found = np.zeros((layer.q.shape[0], queries, keys))
    groups = layer.q.shape[0] // layer.k.shape[0]
    for head in range(found.shape[0]):
        for i in range(queries):
            scores = []
            for j in range(keys):
                q, k = layer.q[head, i].astype(float), layer.k[head // groups, j].astype(float)
                score = float(q @ k) * layer.scaling
                score += float(layer.bias[head, i, j]) if layer.bias is not None else 0.0
                open_to = layer.mask is None or bool(layer.mask[i, j])
                scores.append(score if open_to else -math.inf)
            top = max(scores)
            exponentials = [math.exp(score - top) for score in scores]
            found[head, i] = np.array(exponentials) / sum(exponentials)
    return found


def _measures(name: str, scope: hs.Scope) -> Iterator[Comparison]:
    """A survey of one text, against sums over its maps."""
    text = "the cat sat on the mat , and the cat ran ."
    survey = hs.survey(scope, [text], ["distance", "entropy", "sink", "same_word"])
    reading = scope.read(text, keep=("weights",))
    tokens = reading.part().query
    n = len(tokens)
    shape = reading.attention.shape[:2]
    theirs = {one: np.zeros(shape) for one in ("distance", "entropy", "sink", "same_word")}
    for at in np.ndindex(shape):
        weights = reading.attention.values[at].astype(float)
        copies = []
        for i in range(n):
            for j in range(n):
                theirs["distance"][at] += weights[i, j] * abs(i - j) / n
                if weights[i, j] > 0:
                    theirs["entropy"][at] -= weights[i, j] * math.log(weights[i, j]) / n
            theirs["sink"][at] += weights[i, 0] / (n - 4) if i >= 4 else 0.0
            same = [j for j in range(n) if j < i and tokens.ids[j] == tokens.ids[i]]
            if same and tokens.content[i]:
                copies.append(sum(weights[i, j] for j in same))
        theirs["same_word"][at] = np.mean(copies)
    for measure, values in theirs.items():
        yield Comparison.of(name, measure, survey.map(measure), values, 1e-5)
