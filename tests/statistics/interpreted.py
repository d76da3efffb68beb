"""Run the GPU kernel under TRITON_INTERPRET=1 and compare it with float64; see test_kernels."""

from __future__ import annotations

import sys

import torch

from headscope.statistics.kernels import fused
from headscope.statistics.kernels.fused import Tile
from headscope.statistics.kernels.plan import Plan
from tests.statistics.calls import CASES, make, truth

torch.set_num_threads(1)
fused.documents_at_once = lambda heads: 1  # as a GPU takes many short texts
dtype, parts = getattr(torch, sys.argv[1]), int(sys.argv[2])
EXACT = {"entropy", "largest", "self", "previous", "next", "same_token", "same_token_other"}
for case in CASES:
    call, grid, features = make(case, dtype)
    plan = Plan(grid, features)
    assert fused.suits(call, plan)
    reduced, output = fused.from_scores(call, plan, Tile(32, 32, 4, 2), parts)
    expected, expected_output = truth(call, grid, plan.names)
    valid = grid.query.valid
    for place, name in enumerate(plan.names):
        difference = (reduced.values[:, :, place] - expected[name]).abs() * valid[:, None]
        scale = max(1.0, float(expected[name].abs().max()))
        # weights in one half-precision term: each within 2⁻¹² of itself
        bound = 3e-6 if parts == 2 or name in EXACT else 2.5e-4
        assert float(difference.max()) / scale < bound, (case.name, name, float(difference.max()))
    apart = float(((output - expected_output).abs() * valid[:, :, None, None]).max())
    assert apart < (1e-5 if dtype == torch.float32 else 5e-3), (case.name, apart)
    sys.stdout.write(f"{case.name}: equal\n")
