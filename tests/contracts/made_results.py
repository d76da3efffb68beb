"""One result of every class, by the class's name, from tiny models."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import headscope as hs
from headscope.corpus.sample import OPINIONS, STORIES
from headscope.corpus.treebanks.treebank import Treebank
from headscope.results import HeadResult
from headscope.tasks.files import read_task
from tests.tiny import tiny_scope

TEXTS = ["the cat sat on the mat and the dog sat", "a dog saw the cat", "he saw the dog run"]
CLEAN, CORRUPTED = "the cat sat on the", "the dog sat on the"
LINKS = [[[4, 7], [0, 3]], [[8, 11], [4, 7]]]
quiet = {"progress": False}


def made_results(folder: Path) -> dict[str, HeadResult]:
    """One of each class; the folder takes a file that one of them is opened from."""
    bert, other = tiny_scope("BertModel"), tiny_scope("BertModel")
    judge, writer = tiny_scope("BertForSequenceClassification"), tiny_scope("GPT2LMHeadModel")
    task = read_task(OPINIONS)
    trees = list(Treebank(STORIES))[:12]
    atlases = [hs.atlas(bert, TEXTS, top=3, **quiet) for _ in range(2)]
    sheet = folder / "entropy.csv"
    survey = hs.survey(bert, TEXTS, ["entropy", "sep"], interval=0.9, **quiet)
    survey.save(sheet)
    digits = hs.load("digits")
    for step in (0, 1):
        writer.model.save_pretrained(folder / f"step-{step}")
        writer.tokenizer.save_pretrained(folder / f"step-{step}")
    made = [
        survey,
        hs.open(sheet),
        atlases[0],
        hs.compare(*atlases),
        hs.behaviours(bert, atlases[0], positions=12),
        hs.patterns(bert, TEXTS, segments="documents", **quiet),
        hs.compare(bert, other, TEXTS, statistics=["entropy"], **quiet),
        hs.ablate(judge, task, draws=10, limit=8, **quiet),
        hs.importance(judge, task, limit=8, **quiet),
        hs.probe.dependency(bert, "sample", minimum=5, **quiet),
        hs.probe.coreference(bert, "sample", **quiet),
        hs.probe.relations(bert, "sample", shuffles=5, **quiet),
        hs.find_heads(bert, 8 * [{"text": TEXTS[0], "pairs": LINKS}], **quiet),
        hs.probe.features(bert, "sample", **quiet),
        hs.probe.all_heads(bert, trees, trees, trees, probes=["attention"], epochs=1,
                           vectors="embeddings", **quiet),
        hs.attribute(writer, CLEAN, target="mat"),
        hs.attribute(writer, [CLEAN, CORRUPTED], target="mat", **quiet),
        hs.patch(writer, CLEAN, CORRUPTED, "mat", **quiet),
        hs.circuits.path_patch(writer, CLEAN, CORRUPTED, "mat", sender=(0, 1)),
        hs.circuits.edges(writer, CLEAN, CORRUPTED, "mat", steps=1, draws=1, exact=3, **quiet),
        hs.circuits.copying(writer),
        hs.circuits.composition(writer),
        hs.circuits.named(writer, ["copy_suppression"]),
        hs.circuits.score(writer, CLEAN, 1, 0, 3, 1),
        hs.ground(writer, "who sat ?", ["the cat", "a dog ran"], "the cat", shuffles=1),
        hs.circuits.score(writer, CLEAN, 1, 0, 3),
        hs.emphasis.choose(writer, [(CLEAN, "cat", "mat")] * 4, n=2, draws=1, **quiet),
        hs.over_checkpoints(folder, TEXTS, statistics=["entropy"], **quiet),
        hs.budget(writer, [" ".join(TEXTS)] * 40, sink=1, window=8, max_tokens=48, limit=4,
                  needles=2, shares=[1.0], draws=1, **quiet),
        hs.circuits.score_parts(writer, 3 * TEXTS, 1, 0, **quiet),
        hs.pointing_game(digits.read(image=np.zeros((28, 28), np.uint8)), (4, 4, 20, 20)),
    ]  # fmt: skip
    return {type(result).__name__: result for result in made}
