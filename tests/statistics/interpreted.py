"""Run the GPU kernel under TRITON_INTERPRET=1 and compare it with float64; see test_kernels."""

from __future__ import annotations

import sys

import torch
from triton.runtime import interpreter

from headscope.statistics.kernels import survey_launch
from headscope.statistics.kernels.blocks import Plan
from headscope.statistics.kernels.survey_launch import Tile
from tests.statistics.calls import CASES, make, truth

patch = interpreter._patch_lang_tensor


def patched(tensor, *scope):
    """Triton before 3.7 makes an integer of an array of one number, which numpy 2.4 refuses."""
    patch(tensor, *scope)
    tensor.__index__ = lambda self: int(self.handle.data.squeeze())


interpreter._patch_lang_tensor = patched
torch.set_num_threads(1)
survey_launch.documents_at_once = lambda heads: 1  # as a GPU takes many short texts
dtype, parts = getattr(torch, sys.argv[1]), int(sys.argv[2])
EXACT = {"entropy", "largest", "self", "previous", "next", "same_token", "same_token_other"}
for case in CASES:
    call, grid, features = make(case, dtype)
    plan = Plan(grid, features)
    assert survey_launch.suits(call, plan)
    reduced, output = survey_launch.from_scores(call, plan, Tile(32, 32, 4, 2), parts)
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

call, grid, features = make(CASES[0], dtype)
call.q[0, 0, 2] = torch.nan
plan = Plan(grid, features)
reduced, _ = survey_launch.from_scores(call, plan, Tile(32, 32, 4, 2), parts)
lost = reduced.values.isnan()  # b h F t
# nothing is made up for a row that is no number; what compares tokens may have nothing to compare
told = [place for place, name in enumerate(plan.names) if not name.startswith("same_token")]
assert bool(lost[0, 0, told, 2].all()), plan.names
assert not lost[0, 0, :, :2].any() and not lost[0, 0, :, 3:].any() and not lost[1].any()
sys.stdout.write("no number: equal\n")
