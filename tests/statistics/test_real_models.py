"""Real weights on real text: the table against `output_attentions`, and heads known to be there."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.corpus.bad_data import Faults
from headscope.corpus.text.documents import Reader
from headscope.corpus.text.segments import segments
from tests.statistics.plain import FORMULAS, Maps, eager_copy

pytestmark = pytest.mark.slow
SEGMENTS = 500


@pytest.fixture(scope="module")
def wikitext(shared_data):
    return shared_data / "wikitext" / "wiki.test.raw"


@pytest.mark.timeout(1200)
def test_minilm_on_wikitext_is_the_slow_direct_computation(minilm, wikitext):
    """500 sentence pairs; every statistic to 1e-4 of maps transformers returned, one by one."""
    names = [name for name in FORMULAS if name != "sink_rate"]
    found = hs.survey(
        minilm, wikitext, names, segments="pairs", limit=SEGMENTS, batch_tokens=4096, progress=False
    )
    assert found.metadata["segments"] == SEGMENTS
    model = eager_copy(minilm)
    documents = Reader().documents(wikitext, Faults())
    cut = segments(documents, "pairs", minilm.tokenizer, longest=128, seed=0)
    sums: dict[str, np.ndarray] = {name: np.zeros((6, 12)) for name in names}
    counts = dict.fromkeys(names, 0)
    for _, segment in zip(range(SEGMENTS), cut, strict=False):
        batch = minilm.encode([segment.text], [segment.pair], truncate=True, max_tokens=128)
        with torch.no_grad():
            maps = model(**batch.inputs, output_attentions=True).attentions
        tokens = batch.tokens[0]
        alpha = torch.stack([layer[0] for layer in maps]).double().numpy()
        for name in names:
            value = FORMULAS[name](Maps(alpha, tokens, tokens, False))
            if value is not None:
                sums[name] += value
                counts[name] += 1
    for name in names:
        rows = found.table[found.table["measure"] == name]
        assert (rows["count"] == counts[name]).all(), name
        np.testing.assert_allclose(
            found.map(name), sums[name] / counts[name], atol=1e-4, rtol=1e-4, err_msg=name
        )


@pytest.mark.timeout(900)
def test_smollm2_has_previous_token_heads_sinks_and_induction_heads(smollm2, wikitext):
    names = [
        "previous_word",
        "sink",
        "sink_rate",
        "induction",
        "repeat_previous",
        "norm_first",
        "norm_all",
    ]
    found = hs.survey(smollm2, wikitext, names, max_tokens=64, limit=24, progress=False)
    assert found.top("previous_word", 1)["value"][0] > 0.5
    assert found.top("repeat_previous", 1)["value"][0] > 0.6
    assert found.top("induction", 3)["value"].min() > 0.4
    first = found.map("sink")
    assert (first > 0.3).mean() > 0.4  # most heads rest on the first token …
    assert (found.map("sink_rate") > 0.5).mean() > 0.4
    resting = first > 0.6
    taken = (found.map("norm_first") / found.map("norm_all"))[resting].mean()
    assert taken < 0.7 * first[resting].mean()  # … and take less from it than they look at it
