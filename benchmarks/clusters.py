"""Head distances against a direct implementation of the published formula, in one run.

    python benchmarks/clusters.py

Jensen–Shannon divergence between all pairs of 144 heads on a 128-token segment. The direct way
follows Clark et al.'s description (smooth, then two logarithms for every weight of every ordered
pair of heads) with numpy, on maps in float32 and in the float16 that their files store.
"""

from __future__ import annotations

import json
import time

import numpy as np
import torch

from headscope.statistics.kernels.jensen_shannon import divergences

HEADS, TOKENS = 144, 128


def direct(maps: np.ndarray) -> np.ndarray:
    """Σ over rows of JS for every ordered pair of heads, by its definition."""
    n = maps.shape[-1]
    smooth = (maps * maps.dtype.type(0.999) + maps.dtype.type(0.001 / n)).astype(maps.dtype)
    found = np.zeros((len(maps), len(maps)))
    for head, one in enumerate(smooth):
        middle = (one[None] + smooth) / 2
        to_middle = -one[None] * np.log(middle / one[None]) - smooth * np.log(middle / smooth)
        found[head] = (to_middle / 2).sum(-1).sum(-1)
    return found


def seconds(run, repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def processor_seconds(run, repeats: int) -> float:
    """Of one core; unlike the clock, hardly moved by what else the machine does."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    torch.set_num_threads(before)
    return best


def main() -> None:
    torch.manual_seed(0)
    sharpness = torch.rand(HEADS, 1, 1) * 4
    maps = (torch.randn(HEADS, TOKENS, TOKENS) * sharpness).softmax(-1)
    halves = maps.half()
    divergences(maps, TOKENS)  # the basis is made once per process
    ours = seconds(lambda: divergences(maps, TOKENS), 5)
    single = seconds(lambda: direct(maps.numpy()), 2)
    half = seconds(lambda: direct(halves.numpy()), 1)
    one_core = processor_seconds(lambda: direct(maps.numpy()), 2)
    one_core /= processor_seconds(lambda: divergences(maps, TOKENS), 5)
    truth = direct(maps.double().numpy()) / TOKENS
    apart = np.abs(divergences(maps, TOKENS) / TOKENS - truth)
    result = {
        "threads": torch.get_num_threads(),
        "ours s": ours,
        "direct float32 s": single,
        "direct float16 s": half,
        "times faster than float32": single / ours,
        "times faster than float16": half / ours,
        "times faster than float32, processor time of one core": one_core,
        "largest difference per row, nats": float(apart.max()),
        "largest relative difference": float(
            (apart / np.maximum(truth, 1e-12))[truth > 0.01].max()
        ),
    }
    print(json.dumps(result, indent=1))
    assert result["largest difference per row, nats"] < 1e-5


if __name__ == "__main__":
    main()
