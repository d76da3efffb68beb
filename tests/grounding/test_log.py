"""Finished requests are read from JSON in every usual shape, and a stopped log resumes."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import headscope as hs
from headscope.errors import BadInput
from headscope.grounding import log as log_module
from headscope.grounding.log import ground_log
from headscope.grounding.requests import request_of
from headscope.runs import Progress
from tests.reading.test_conversation import scope_with
from tests.text.test_chat import TEMPLATES

ASK = {"role": "user", "content": "the cat sat on the mat ?"}
DOCUMENTS = ["a cat sat .", "one two three ."]


@pytest.mark.parametrize(
    "given",
    [
        {"messages": [ASK], "documents": DOCUMENTS, "answer": "a cat ."},
        {"messages": [ASK, {"role": "assistant", "content": "a cat ."}], "documents": DOCUMENTS},
        {
            "request": {"messages": [ASK], "documents": DOCUMENTS},
            "response": {"choices": [{"message": {"role": "assistant", "content": "a cat ."}}]},
        },
        {
            "messages": [{**ASK, "content": [{"type": "text", "text": ASK["content"]}]}],
            "documents": DOCUMENTS,
            "choices": [{"text": "a cat ."}],
        },
    ],
)
def test_requests_of_every_shape_are_the_same(given):
    found = request_of(given)
    assert found.messages == (ASK,) and list(found.documents) == DOCUMENTS
    assert found.answer == "a cat ."


@pytest.mark.parametrize("given", [3, {}, {"messages": []}, {"messages": [ASK], "documents": "x"}])
def test_what_is_no_request_is_refused(given):
    with pytest.raises(BadInput):
        request_of(given)


def write(path, count: int = 4):
    lines = [
        json.dumps({"id": f"r{n}", "messages": [ASK], "documents": DOCUMENTS, "answer": "a cat ."})
        for n in range(count)
    ]
    lines[1] = '{"messages": [{"role": "user", "content": "who ?"}]}'
    path.write_text("\n".join(lines) + "\nnot json\n")


def test_a_log_becomes_a_table_and_bad_requests_say_why(tmp_path):
    write(tmp_path / "log.jsonl")
    scope = scope_with(TEMPLATES["chatml"])
    table = ground_log(
        scope, tmp_path / "log.jsonl", output=tmp_path / "out.parquet", progress=False
    )
    assert list(table["request"]) == ["r0", "1", "r2", "r3", "4"]
    assert table["error"].notna().tolist() == [False, True, False, False, True]
    once = hs.ground(scope, [ASK], DOCUMENTS, "a cat .", most_heads=0)
    assert table["gain"][0] == pytest.approx(once.support["gain"][1], abs=1e-6)
    assert len(pd.read_parquet(tmp_path / "out.parquet")) == 5


def test_a_stopped_log_resumes(tmp_path, monkeypatch):
    write(tmp_path / "log.jsonl")
    scope = scope_with(TEMPLATES["chatml"])
    whole = ground_log(scope, tmp_path / "log.jsonl", progress=False)
    out = tmp_path / "out.csv"

    def stop(progress: Progress) -> None:
        if progress.done == 3:
            raise KeyboardInterrupt

    with pytest.raises((hs.Stopped, KeyboardInterrupt)):
        ground_log(scope, tmp_path / "log.jsonl", output=out, progress=stop)
    rows = log_module._rows
    seen = []
    monkeypatch.setattr(log_module, "_rows", lambda s, n, *o: seen.append(n) or rows(s, n, *o))
    again = ground_log(scope, tmp_path / "log.jsonl", output=out, progress=False)
    assert seen == [3, 4]
    pd.testing.assert_frame_equal(again, whole)
