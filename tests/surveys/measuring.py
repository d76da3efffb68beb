"""Segments measured without a corpus or a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

import headscope as hs
from headscope.corpus.bad_data import Faults
from headscope.corpus.text.batches import Encoder
from headscope.corpus.text.segments import Segment
from headscope.surveys.corpus import Portion, Prepared
from headscope.surveys.loop import Measurer
from headscope.surveys.reducer import Reducer


def measured(
    scope: hs.Scope,
    reducers: Sequence[Reducer],
    segments: Sequence[Segment],
    most_tokens: int = 2048,
) -> Sequence[Reducer]:
    """Fresh reducers that have seen the segments."""
    portion = Portion(0, 0, list(segments), len(segments), Faults(), True)
    batches = list(Encoder.of(scope, most_tokens).batches(segments))
    (found,) = Measurer(scope, reducers, seed=0).portions([Prepared(portion, batches)])
    return found.reducers


def same_numbers(one: hs.Survey, other: hs.Survey, *, rtol: float = 1e-6) -> None:
    """Runs that were resumed, spread or batched otherwise: counts exactly, numbers to 1e-6."""
    keys = ["kind", "measure", "layer", "head"]
    first, second = (of.table.set_index(keys).sort_index() for of in (one, other))
    pd.testing.assert_frame_equal(first, second, check_exact=False, rtol=rtol, atol=1e-9)
    assert (first["count"] == second["count"]).all()
    assert one.pairs.keys() == other.pairs.keys()
    for kind, pairs in one.pairs.items():
        np.testing.assert_allclose(pairs.values, other.pairs[kind].values, rtol=rtol, atol=1e-9)
