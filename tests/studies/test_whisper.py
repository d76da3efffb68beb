"""Whisper's own weights: published alignment heads rank high, and the chosen heads time better.

Needs, in the data folder of the environment, whisper-base (requirements/fetch_data.py) and
speech: recordings of at most 30 s with word times of benchmarks/word_times.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import headscope as hs
from headscope.studies.whisper.model import open_model
from headscope.studies.whisper.study import every_head, published, ranking

DATA = Path(sys.prefix) / "data"
RECORDINGS = 24


@pytest.mark.slow
def test_published_heads_rank_high_and_the_chosen_ones_time_words_as_well():
    if not (DATA / "whisper-base").is_dir() or not (DATA / "speech").is_dir():
        pytest.skip("needs whisper-base and recordings with word times in the data folder")
    scope = open_model(str(DATA / "whisper-base"))
    named = published(scope)
    assert named[0] == (3, 1) and len(named) == 8
    found = hs.probe.speech(
        scope, DATA / "speech", most_heads=6, limit=RECORDINGS, lists={"published": named},
        progress=False,
    )  # fmt: skip
    ranks, rows = ranking(every_head(found, named)), found.together.set_index("method")
    print(ranks, rows[["heads", "value", "low", "high"]], sep="\n")
    assert ranks["time error"] >= 0.95
    own = found.together["chosen"].idxmin()
    assert found.together.loc[own, "value"] <= rows.loc["published", "value"]
