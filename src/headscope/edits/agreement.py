"""How far the gradient's opinion of heads agrees with disabling them one at a time."""

from __future__ import annotations

import numpy as np

from headscope.edits.ablate import Ablation
from headscope.edits.importance import Importance
from headscope.tasks.metrics import ranks


def agreement(weighed: Importance, disabled: Ablation) -> float:
    """The rank correlation of a head's importance with what the score loses without it."""
    lost = -disabled.head_map if disabled.higher_is_better else disabled.head_map
    one, two = ranks(weighed.size.ravel()), ranks(lost.ravel())
    if one.std() == 0 or two.std() == 0:
        return 0.0
    return float(np.corrcoef(one, two)[0, 1])
