"""Every kind of long run, on tiny models, and what it leaves behind."""

from __future__ import annotations

import copy
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import torch

import headscope as hs
from headscope.corpus.coreference.corpus import CoreferenceCorpus
from headscope.corpus.relations.corpus import Relations
from headscope.corpus.sample import RELATIONS, STORIES
from headscope.corpus.treebanks.treebank import Treebank
from headscope.edits.ablate import ablate
from headscope.edits.importance import importance
from headscope.edits.pruning import prune
from headscope.finetuning.finetune import finetune
from headscope.finetuning.training import Recipe
from headscope.patterns.over_corpus import map_kind_shares, pattern_scores
from headscope.tasks.questions import make_questions
from tests.finetuning.test_finetune import colours
from tests.tiny import tiny_scope, tiny_tokenizer

TREES = list(Treebank(STORIES)) * 3
TEXTS = [" ".join(sentence.words) for sentence in TREES]
TASK = colours(48, 3)
CLEAN, CORRUPTED = (
    [f"the {a} ran to the {b} [MASK]" for b in ("house", "tree", "store", "mat", "dog", "cat")]
    for a in ("cat", "dog")
)

# small batches, each kept at once, so that little data makes many moments to stop at
SMALL_STEPS: dict[str, Any] = {
    "headscope.runs.part.KEEP_EVERY": -1.0,
    "headscope.runs.part.SHARE": 0,
    "headscope.probes.passes.BATCH_TOKENS": 96,
    "headscope.probes.relations.heads.BATCH": 2,
    "headscope.finetuning.training.LOOK_EVERY": 1,
    "headscope.circuits.patching.batch.AT_ONCE": 1,
}


def make_scopes() -> dict[str, hs.Scope]:
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
    "survey": ("s.parquet", words(hs.survey, TEXTS, ["entropy", "next_word"], chunk=8, seed=1)),
    "patterns": ("p.csv", words(pattern_scores, TEXTS[:40], cut="documents", predictive=2)),
    "kinds of map": ("k.csv", words(map_kind_shares, TEXTS[:20], cut="documents")),
    "probe dependency": ("d.csv", words(hs.probe.dependency, TREES, minimum=5)),
    "probe coreference": ("c.csv", words(hs.probe.coreference, [*CoreferenceCorpus(STORIES)] * 3)),
    "probe relations": ("r.csv", words(hs.probe.relations, Relations(RELATIONS), shuffles=9)),
    "probe features": ("f.csv", words(hs.probe.features, TREES)),
    "probe all heads": ("a.csv", words(hs.probe.all_heads, TREES[20:], TREES[:10], TREES[10:20],
                                       probes=PROBES, vectors="embeddings", epochs=2)),
    "ablate": ("a.csv", asked(ablate, importance=True)),
    "importance": ("i.csv", asked(importance)),
    "prune": ("p.csv", asked(prune, order="greedy", step=0.25)),
    "atlas": ("heads.atlas", words(hs.atlas, TEXTS[:24], ["entropy", "next_word"], chunk=4)),
    "patch": ("p.parquet", words(hs.circuits.patch, CLEAN, CORRUPTED, ("red", "blue"),
                                 method="both")),
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
        elif path.suffix == ".atlas":
            found[name] = _members(path)
        elif path.suffix == ".html":
            found[name] = [part for part in path.read_text().split("<table") if "Made" not in part]
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


def _members(path: Path) -> dict[str, Any]:
    """The files in an atlas; when it was made is not what is in it."""
    found: dict[str, Any] = {}
    with zipfile.ZipFile(path) as file:
        for name in file.namelist():
            data = file.read(name)
            table = name.endswith(".parquet")
            found[name] = pd.read_parquet(io.BytesIO(data)).to_csv() if table else data
    return found
