"""How many tokens a model reads at once in a survey."""

from __future__ import annotations

import torch
from torch import nn

from headscope.reading import Scope

ON_CPU = 2_048
# Python gives a batch to the GPU in about ten milliseconds, whatever it holds: a small model is
# done with the fewest in little more than that
FEWEST, MOST = 32_768, 131_072
SHARE = 8  # a batch's numbers may take this part of a GPU's memory
COPIES = 4  # of the widest activation, alive at the same time
MAPS = 16 * 4 * 2  # bytes for each token and key where maps are made: of 16 heads, and a copy
LENGTH = 1_024  # of texts, where a model sets no limit


def batch_tokens(scope: Scope, longest: int | None) -> int:
    """Decided by the model and the size of the GPU alone: equal runs have equal batches."""
    if scope.device.type != "cuda":
        return ON_CPU
    wide = [m.out_features for m in scope.model.modules() if isinstance(m, nn.Linear)]
    each = max(wide, default=4_096) * _bytes(scope.model) * COPIES + MAPS * (longest or LENGTH)
    room = torch.cuda.get_device_properties(scope.device).total_memory / SHARE
    count = MOST
    while count > FEWEST and count * each > room:
        count //= 2
    return count


def _bytes(model: nn.Module) -> int:
    """Of a number of its activations."""
    return next((p.element_size() for p in model.parameters() if p.is_floating_point()), 4)
