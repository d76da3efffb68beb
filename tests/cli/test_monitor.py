"""`headscope monitor` makes examples, fits a monitor on them, and scores conversations."""

from __future__ import annotations

import json

import pandas as pd
from typer.testing import CliRunner

import headscope as hs
from headscope.cli import build
from tests.cli.test_ground import model as model
from tests.grounding.monitors.test_monitor import TEXTS


def call(*arguments: object):
    return CliRunner().invoke(build(), ["monitor", *map(str, arguments)])


def test_documents_become_examples_a_monitor_and_scores(model, tmp_path):
    files = []
    for number, text in enumerate(TEXTS):
        files.append(tmp_path / f"{number}.txt")
        files[-1].write_text(text)
    labelled, kept, scores = (tmp_path / one for one in ("l.jsonl", "m.json", "s.csv"))
    said = call("build", *files, "--what", "context", "-o", labelled)
    assert said.exit_code == 0, said.output
    options = ("-m", model, "--most-heads", 3, "--shuffles", 5)
    said = call("fit", labelled, *options, "-o", kept)
    assert said.exit_code == 0 and "AUROC" in said.output, said.output
    with labelled.open("a") as file:
        file.write("no json\n" + "[" * 50_000 + "\n" + json.dumps({"messages": "x"}) + "\n")
    said = call("score", labelled, "--monitor", kept, "-m", model, "-o", scores)
    assert said.exit_code == 0, said.output
    table = pd.read_csv(scores)
    assert table["score"].notna().sum() == 2 * len(TEXTS)
    assert table["error"].notna().tolist()[-3:] == [True, True, True]
    one = json.loads(labelled.read_text().splitlines()[0])
    scope = hs.load(model)
    alone = hs.open(kept).score(scope, one["messages"], one["documents"], one["answer"])
    assert abs(alone - table["score"][0]) < 1e-5
    said = call("build", files[0], "-o", labelled)
    assert said.exit_code != 0
