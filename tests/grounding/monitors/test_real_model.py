"""On a real model both builders make examples that a few heads tell apart, and shuffled ones not.

`python benchmarks/monitors.py` measures the same on more examples, for the table of the docs.
"""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs
from benchmarks.monitors import BUILDERS, documents, measured, table

SHUFFLES = 12
ABOVE = 3  # more of 12 exceed their 95 % null once in 400 times


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILDERS)
def test_a_monitor_beats_its_null_and_shuffled_labels_stay_within_theirs(
    smollm2: hs.Scope, name: str
) -> None:
    found = measured(smollm2, BUILDERS[name](documents(20)), SHUFFLES)
    print("\n" + table({name: found}))
    assert found["auroc"] > found["null"] and found["p"] < 0.05
    assert sum(one["auroc"] > one["null"] for one in found["shuffled"]) <= ABOVE
    assert np.mean([one["auroc"] for one in found["shuffled"]]) == pytest.approx(0.5, abs=0.1)
