"""Every kind of long run, stopped at a random moment, goes on to the undisturbed result."""

from __future__ import annotations

import copy
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

import headscope as hs
from headscope.corpus.coreference.documents import CoreferenceCorpus
from headscope.corpus.relations.examples import Relations
from headscope.corpus.sample import RELATIONS, STORIES
from headscope.corpus.treebanks.conllu import Treebank
from headscope.edits.ablate import ablate
from headscope.edits.importance import importance
from headscope.edits.pruning import prune
from headscope.errors import BadInput, HeadscopeError
from headscope.finetuning.finetune import finetune
from headscope.finetuning.training import Recipe
from headscope.patterns.over_corpus import map_kind_shares, pattern_scores
from headscope.probes.all_heads.run import probe_all_heads
from headscope.probes.coreference.heads import probe_coreference
from headscope.probes.dependency.heads import probe_dependency
from headscope.probes.features.attention import probe_features
from headscope.probes.relations.heads import probe_relations
from headscope.runs import part as kept
from headscope.runs.lock import only_writer
from headscope.tasks.questions import make_questions
from tests.finetuning.test_finetune import colours
from tests.tiny import tiny_scope, tiny_tokenizer

pytestmark = pytest.mark.usefixtures("one_thread")
TREES = list(Treebank(STORIES)) * 3
TEXTS = [" ".join(sentence.words) for sentence in TREES]
TASK = colours(48, 3)


@pytest.fixture(autouse=True)
def small_steps(monkeypatch) -> None:
    """Small batches, each kept at once, so that little data makes many moments to stop at."""
    monkeypatch.setattr(kept, "KEEP_EVERY", -1.0)
    monkeypatch.setattr(kept, "SHARE", 0)
    monkeypatch.setattr("headscope.probes.passes.BATCH_TOKENS", 96)
    monkeypatch.setattr("headscope.probes.relations.heads.BATCH", 2)
    monkeypatch.setattr("headscope.finetuning.training.LOOK_EVERY", 1)


@pytest.fixture(scope="module")
def scopes() -> dict[str, hs.Scope]:
    """Two models of one folder name and other weights, for words and for the task."""
    found: dict[str, hs.Scope] = {}
    for kind in ("BertForPreTraining", "BertForSequenceClassification"):
        made = tiny_scope(kind)
        other = copy.deepcopy(made.model)
        with torch.no_grad():
            other.bert.encoder.layer[1].attention.self.key.weight += 0.05
        found[kind] = hs.Scope(made.model, made.tokenizer, "checkpoint-500")
        found[f"other {kind}"] = hs.Scope(other, made.tokenizer, "checkpoint-500")
    return found


def words(function: Callable[..., Any], *given: Any, **named: Any) -> Callable[..., Any]:
    def go(scopes: Any, which: str, output: Path, **more: Any) -> None:
        function(scopes[f"{which}BertForPreTraining"], *given, output=output, **named, **more)

    return go


def asked(function: Callable[..., Any], **named: Any) -> Callable[..., Any]:
    def go(scopes: Any, which: str, output: Path, **more: Any) -> None:
        scope = scopes[f"{which}BertForSequenceClassification"]
        function(scope, make_questions(scope, TASK, batch_size=4), output=output, **named, **more)

    return go


def compared(scopes: Any, which: str, output: Path, **more: Any) -> None:
    one, two = scopes["BertForPreTraining"], scopes[f"{which}BertForPreTraining"]
    hs.compare(one, two, TEXTS[:64], statistics=["entropy"], output=output, **more)


def trained(scopes: Any, which: str, output: Path, **more: Any) -> None:
    source = output.parent.parent / f"source{which}"
    if not source.exists():
        scopes[f"{which}BertForPreTraining"].model.save_pretrained(source)
        tiny_tokenizer().save_pretrained(source)
    finetune(source, TASK, output, recipe=Recipe(epochs=1, batch_size=4), device="cpu", **more)


PROBES = ("right-branching", "attention", "random weights")
RUNS: dict[str, tuple[str, Callable[..., Any]]] = {
    "survey": ("s.parquet", words(hs.survey, TEXTS, ["entropy", "next"], chunk=8, seed=1)),
    "patterns": ("p.csv", words(pattern_scores, TEXTS[:40], cut="documents", predictive=2)),
    "kinds of map": ("k.csv", words(map_kind_shares, TEXTS[:20], cut="documents")),
    "probe dependency": ("d.csv", words(probe_dependency, TREES, minimum=5)),
    "probe coreference": ("c.csv", words(probe_coreference, list(CoreferenceCorpus(STORIES)) * 3)),
    "probe relations": ("r.csv", words(probe_relations, Relations(RELATIONS), shuffles=9)),
    "probe features": ("f.csv", words(probe_features, TREES)),
    "probe all heads": ("a.csv", words(probe_all_heads, TREES[20:], TREES[:10], TREES[10:20],
                                       probes=PROBES, vectors="embeddings", epochs=2)),
    "ablate": ("a.csv", asked(ablate, importance=True)),
    "importance": ("i.csv", asked(importance)),
    "prune": ("p.csv", asked(prune, order="greedy", step=0.25)),
    "compare": ("c.csv", compared),
    "finetune": ("model", trained),
    "study": ("vig.html", words(hs.studies.vig, limit=3)),
}  # fmt: skip


def result(folder: Path) -> dict[str, Any]:
    """Every file of a folder; of a report its tables, of a survey what was measured."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".parquet":
            found[name] = pd.read_parquet(path).to_csv()
        elif path.suffix == ".html":
            found[name] = [part for part in path.read_text().split("<table") if "Made" not in part]
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


@pytest.fixture
def undisturbed(scopes, tmp_path_factory) -> Callable[[str], tuple[dict[str, Any], float]]:
    """What a run gives, and how long it takes."""

    def of(name: str) -> tuple[dict[str, Any], float]:
        folder = tmp_path_factory.mktemp("whole") / "o"
        folder.mkdir()
        begun = time.monotonic()
        output, go = RUNS[name]
        go(scopes, "", folder / output, progress=False)
        return result(folder), time.monotonic() - begun

    return of


def stopped_at_random(go: Callable[[], None], longest: float) -> bool:
    """Send a real Ctrl-C at a random moment; False if the run was done before it."""
    timer = threading.Timer(
        random.uniform(0.1, 0.8) * longest, lambda: os.kill(os.getpid(), signal.SIGINT)
    )
    try:
        timer.start()
        try:
            go()
        finally:
            timer.cancel()
            timer.join()
        return False
    except KeyboardInterrupt as stop:  # before the run was opened, it is a plain one
        assert not isinstance(stop, hs.Stopped) or "same command" in str(stop)
        return True


@pytest.mark.parametrize("name", RUNS)
def test_a_run_stopped_at_a_random_moment_goes_on_to_the_undisturbed_result(
    name, scopes, undisturbed, tmp_path
):
    whole, takes = undisturbed(name)
    output, go = RUNS[name]
    folder = tmp_path / "o"
    folder.mkdir()

    def again() -> None:
        go(scopes, "", folder / output, progress=False)

    for _ in range(6):
        if not stopped_at_random(again, takes) or result(folder) == whole:
            break
    if result(folder) != whole:
        again()
    assert result(folder) == whole


def stop_at(count: int) -> Callable[[Any], None]:
    seen = 0

    def show(progress: Any) -> None:
        nonlocal seen
        seen += 1
        if seen == count:
            raise KeyboardInterrupt

    return show


@pytest.mark.parametrize("name", RUNS)
def test_another_model_of_the_same_folder_name_is_refused(name, scopes, tmp_path):
    output, go = RUNS[name]
    folder = tmp_path / "o"
    folder.mkdir()
    with pytest.raises(hs.Stopped, match="Run the same command to go on"):
        go(scopes, "", folder / output, progress=stop_at(4))
    before = result(folder)
    with pytest.raises(BadInput, match=r"begun with another .*model.*--restart"):
        go(scopes, "other ", folder / output, progress=False)
    assert result(folder) == before  # a refusal harms nothing


@pytest.mark.parametrize("name", RUNS)
def test_every_long_run_holds_its_output_alone(name, scopes, tmp_path):
    output, go = RUNS[name]
    folder = tmp_path / "o"
    folder.mkdir()
    with (
        only_writer(folder / output, folder=True),
        pytest.raises(HeadscopeError, match="Another run is writing"),
    ):
        go(scopes, "", folder / output, progress=False)


@pytest.mark.parametrize("name", [name for name in RUNS if name != "compare"])
def test_weights_that_are_not_numbers_are_refused(name, scopes, tmp_path):
    """No accuracy of 0.32, no survey of two statistics, no model of empty tensors."""
    output, go = RUNS[name]
    folder = tmp_path / "o"
    folder.mkdir()
    broken: dict[str, Any] = {}
    for key in ("BertForPreTraining", "BertForSequenceClassification"):
        model = copy.deepcopy(scopes[key].model)
        with torch.no_grad():
            model.bert.encoder.layer[1].output.dense.weight[3, 3] = float("nan")
        broken[f"broken {key}"] = hs.Scope(model, scopes[key].tokenizer, "broken")
    with pytest.raises(BadInput, match=r"weights that are not numbers \(in bert.encoder.layer.1"):
        go(broken, "broken ", folder / output, progress=False)
    assert list(folder.iterdir()) == []
