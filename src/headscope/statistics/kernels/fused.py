"""The one-pass GPU kernel's place; see `suits`."""

from __future__ import annotations

from torch import Tensor

from headscope.capture import Call
from headscope.statistics.kernels.blocks import Reduced
from headscope.statistics.kernels.plan import Plan


def suits(call: Call, plan: Plan) -> bool:
    return False


def from_scores(call: Call, plan: Plan) -> tuple[Reduced, Tensor]:
    raise NotImplementedError
