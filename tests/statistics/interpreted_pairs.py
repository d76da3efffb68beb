"""Run the kernel of pairs of heads under TRITON_INTERPRET=1 and compare it with float64, written
as the definition; see test_row_tiles."""

from __future__ import annotations

import sys

import torch

from headscope.statistics.kernels import pair_divergence
from headscope.statistics.kernels.jensen_shannon import divergences

torch.set_num_threads(1)
HEADS = (1, 2, 3, 4, 9, 12, 16, 144)


def truth(maps: torch.Tensor) -> torch.Tensor:
    """heads × heads: the Jensen–Shannon divergences of the rows, summed."""

    def information(weights: torch.Tensor) -> torch.Tensor:
        return torch.special.xlogy(weights, weights).flatten(1).sum(1)

    own = information(maps)
    return torch.stack([
        (own[head] + own) / 2 - information((maps + maps[head]) / 2) for head in range(len(maps))
    ])  # fmt: skip


def random_maps(heads: int, rows: int, keys: int, lengths: torch.Tensor) -> torch.Tensor:
    """Rows of weights, smoothed; what lies beyond a row's length is 0."""
    chance = torch.Generator().manual_seed(heads)
    there = torch.arange(keys) < lengths[:, None]
    scores = torch.randn(heads, rows, keys, generator=chance) * 3
    return scores.masked_fill(~there, -torch.inf).softmax(-1)


for heads in HEADS:
    rows, keys = (3, 7) if heads > 100 else (5, 67)
    lengths = torch.arange(rows) % keys + 1  # as causal rows: the first of a single key
    lengths[-1] = keys
    maps = random_maps(heads, rows, keys, lengths)
    there = torch.arange(keys) < lengths[:, None]
    smooth = maps.double() * 0.999 + there * (0.001 / lengths)[:, None]
    expected = truth(smooth)
    found = torch.from_numpy(divergences(maps, lengths))
    apart = float((found - expected).abs().max())
    assert apart < 1e-6 * rows, (heads, apart)
    assert torch.equal(found, found.T) and float(found.diagonal().abs().max()) == 0
    sys.stdout.write(f"{heads} heads: equal to {apart:.0e}\n")

# more weights than one program sums, the last of them a rest
pair_divergence.STRETCH = 128
maps = random_maps(3, 9, 37, torch.full((9,), 37))
expected = truth(maps.double() * 0.999 + 0.001 / 37)
apart = float((torch.from_numpy(divergences(maps, 37)) - expected).abs().max())
assert apart < 1e-5, apart
sys.stdout.write(f"several stretches: equal to {apart:.0e}\n")
