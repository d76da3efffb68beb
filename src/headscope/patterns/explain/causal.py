"""The causal check: the softmax with only some contributors, and without them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.patterns.explain.contributors import Contributors
from headscope.patterns.map_scores import score_maps
from headscope.patterns.pattern import Pattern
from headscope.statistics.features.grid import Grid
from headscope.statistics.kernels.jensen_shannon import row_divergence


@dataclass(frozen=True)
class Causal:
    """The pattern's score as captured, with only the chosen contributors, and without them."""

    score: float
    only: float
    without: float
    js_only: float  # Jensen–Shannon divergence from the captured weights, nats, mean over queries
    js_without: float
    exact: float  # largest difference between captured weights and softmax of all contributors


def causal(
    parts: Contributors,
    chosen: NDArray[np.int64],
    captured: NDArray[np.float32],
    pattern: Pattern,
    grid: Grid,
) -> Causal:
    """Check the contributors of the numbers `chosen` against a head's captured weights (t s)."""
    kept = np.zeros(len(parts), bool)
    kept[chosen] = True
    whole, only, without = parts.weights(), parts.weights(kept), parts.weights(~kept)
    maps = torch.from_numpy(np.stack([captured, only, without]).astype(np.float32))[None]
    scores = score_maps(pattern, maps, grid)
    assert scores is not None
    score, with_them, without_them = scores.score[0].tolist()
    return Causal(
        score,
        with_them,
        without_them,
        jensen_shannon(captured, only),
        jensen_shannon(captured, without),
        float(np.abs(whole - captured).max()),
    )


def jensen_shannon(a: NDArray[np.floating], b: NDArray[np.floating]) -> float:
    """Mean over rows, in nats (at most ln 2)."""
    one, two = (torch.from_numpy(weights.astype(np.float64)) for weights in (a, b))
    return float(row_divergence(one, two).mean().clamp_min(0))
