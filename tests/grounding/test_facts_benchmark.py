"""The benchmark of invented facts resumes, and its tables count what its rows say."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.grounding_facts import Row, rows_of, run, tables
from headscope.grounding.learned import HeadWeights
from headscope.runs.identity import model_fingerprint
from tests.reading.test_conversation import scope_with
from tests.text.test_chat import TEMPLATES


def made(kind: str, number: int, gone: float, first: bool = True) -> Row:
    """Five documents, the second of which is the true one; a bare answer costs 20 nats."""
    exact = [0.0, 9.0, 1.0, 2.0, 3.0]
    cheap = exact if first else exact[::-1]
    scores = dict.fromkeys(("learned", "logit", "norm", "attention"), cheap)
    return Row(
        kind, number, True, [1], {"exact": exact, **scores}, [], 8,
        read=-2.0, bare=-20.0, chance=-20.0, gone=-20.0 + 20.0 * gone, gone_chance=-20.0,
    )  # fmt: skip


def test_a_stopped_run_resumes_and_gives_the_same_rows(tmp_path):
    scope = scope_with(TEMPLATES["chatml"], positions=4000)
    records = tmp_path / "rows.jsonl"
    said: list[str] = []
    run(scope, records, {"wrong": 1, "plain": 1}, say=said.append)
    first = records.read_text("utf-8")
    assert said == ["wrong: 1 of 1 kept", "plain: 0 of 4 kept"]  # random weights answer nothing
    run(scope, records, {"wrong": 2}, say=said.append)
    assert records.read_text("utf-8").startswith(first)
    whole = run(scope, tmp_path / "whole.jsonl", {"wrong": 2}, say=said.append)
    again = [row for row in rows_of(records) if row.kept]
    assert [row.number for row in again] == [0, 1]
    for one, two in zip(again, whole, strict=True):
        np.testing.assert_allclose(one.scores["exact"], two.scores["exact"], atol=1e-4)
        lost = one.scores["exact"][one.true[0]]
        assert one.read - lost == pytest.approx(one.gone, abs=1e-4)  # one true document
    model = scope.model.config
    ones = ((1.0,) * model.num_attention_heads,) * model.num_hidden_layers
    HeadWeights("m", model_fingerprint(scope.model), ones, 0, 0, 0, 0, 12, 1.0).save(
        records.with_suffix(".weights.json")
    )
    heads = model.num_attention_heads * model.num_hidden_layers
    for row in rows_of(records):
        if row.kept:  # equal weights are the mean over heads
            learned = np.array(row.scores["learned"]) / heads
            np.testing.assert_allclose(learned, row.scores["attention"], atol=1e-5)


def test_tables_count_first_documents_and_verdicts():
    rows = [made("plain", n, gone=0.1, first=n > 0) for n in range(4)]
    rows += [made("short", 0, gone=0.9), Row("short", 1, False)]
    shown = tables(rows)
    assert "| plain | 4 of 4 | 4 | 3 | 3 | 3 | 3 |" in shown
    assert "| short | 1 of 2 | 1 | 1 | 1 | 1 | 1 |" in shown
    assert "| plain | 4 | 4 | 0 |" in shown and "| short | 1 | 0 | 0 |" in shown
