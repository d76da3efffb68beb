"""On a real model the true document comes first, and answers without their document are refused.

`pytest tests/grounding/test_real_model.py -m slow -s` prints the whole table.
"""

from __future__ import annotations

import pytest

import headscope as hs
from headscope.grounding.facts import KINDS, facts
from headscope.grounding.learned import HeadWeights
from tests.grounding.measured import measured, table

SEED = 1000  # of the questions asked; the weights are fitted on those of seed 0


@pytest.fixture(scope="module")
def weights(smollm2: hs.Scope) -> HeadWeights:
    return hs.fit_head_weights(smollm2, progress=False)


@pytest.mark.slow
def test_the_true_document_comes_first_on_a_hundred_questions(smollm2, weights):
    rows = measured(smollm2, facts(100, ("plain",), SEED), weights)
    print(table(rows))
    assert sum(row.first["exact"] for row in rows) >= 95
    assert sum(row.first["learned"] for row in rows) >= 95
    assert sum(row.refused for row in rows) >= 90
    assert sum(not row.supported for row in rows) <= 10


@pytest.mark.slow
def test_every_hard_kind_has_its_row(smollm2, weights):
    rows = measured(smollm2, facts(50, KINDS[1:], SEED), weights)
    print(table(rows))
    assert {row.kind for row in rows} == set(KINDS[1:])
    assert weights.low <= weights.correlation <= weights.high
