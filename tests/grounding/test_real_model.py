"""On a real model the true document comes first, and answers without their document are refused.

`pytest tests/grounding/test_real_model.py -m slow -s` prints the tables of the docs. Rows are kept
in the file named by GROUNDING_RECORDS, where it is set, and a stopped run resumes there.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import headscope as hs
from benchmarks.grounding_facts import Row, fitted, rows_of, run, tables
from headscope.grounding.facts import KINDS


@pytest.fixture(scope="module")
def rows(smollm2: hs.Scope, tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    given = os.environ.get("GROUNDING_RECORDS")
    records = Path(given) if given else tmp_path_factory.mktemp("facts") / "rows.jsonl"
    fitted(smollm2, records)
    run(smollm2, records, {"plain": 100, **dict.fromkeys(KINDS[1:], 20)})
    print(tables(rows_of(records)))
    return [row for row in rows_of(records) if row.kept]


@pytest.mark.slow
def test_the_true_document_comes_first_on_a_hundred_questions(rows):
    plain = [row for row in rows if row.kind == "plain"]
    assert len(plain) >= 100
    assert sum(row.first("exact") for row in plain) >= 0.95 * len(plain)
    assert sum(row.first("learned") for row in plain) >= 0.95 * len(plain)


@pytest.mark.slow
def test_an_answer_without_its_document_is_refused(rows):
    plain = [row for row in rows if row.kind == "plain"]
    assert sum(row.refused(gone=True) for row in plain) >= 0.9 * len(plain)
    assert sum(row.refused() for row in plain) <= 0.1 * len(plain)


@pytest.mark.slow
def test_every_hard_kind_has_its_row(rows):
    assert {row.kind for row in rows} == set(KINDS)
