"""Every command on tiny models, and the folder of models, texts and tasks it is run beside."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import torch

from headscope.corpus.sample import RELATIONS, STORIES
from tests.finetuning.test_finetune import colours
from tests.tiny import tiny_model, tiny_tokenizer

# those that keep what they have and go on
COMMANDS: dict[str, tuple[str, ...]] = {
    "survey": ("survey", "texts.txt", "-m", "words", "-o", "s.csv", "-s", "entropy"),
    "patterns": ("patterns", "texts.txt", "-m", "words", "-o", "p.csv", "--segments", "documents"),
    "kinds": ("patterns", "texts.txt", "-m", "words", "-o", "k.csv", "--kinds", "--limit", "9",
              "--segments", "documents"),
    "dependency": ("probe", "dependency", str(STORIES), "-m", "words", "-o", "d.csv",
                   "--minimum", "5"),
    "all heads": ("probe", "dependency", str(STORIES), "-m", "words", "-o", "h.csv", "--minimum",
                  "5", "--train", str(STORIES), "--vectors", "embeddings"),
    "coreference": ("probe", "coreference", str(STORIES), "-m", "words", "-o", "c.csv"),
    "relations": ("probe", "relations", str(RELATIONS), "-m", "words", "-o", "r.csv",
                  "--shuffles", "9"),
    "features": ("probe", "features", str(STORIES), "-m", "words", "-o", "f.csv"),
    "ablate": ("ablate", "task.tsv", "-m", "task", "-o", "a.csv", "--batch-size", "4"),
    "patch": ("patch", "pairs.jsonl", "-m", "words", "-o", "q.csv"),
    "compare": ("compare", "words", "words-other", "texts.txt", "-o", "m.csv"),
    "finetune": ("finetune", "task.tsv", "-m", "words", "-o", "model", "--batch-size", "4",
                 "--epochs", "1"),
    "study": ("study", "vig", "-m", "words", "-o", "v.html", "--limit", "3"),
}  # fmt: skip
# those that are done at once, or begin again
SHORT: dict[str, tuple[str, ...]] = {
    "atlas": ("atlas", "texts.txt", "-m", "words", "-o", "w.atlas", "--limit", "24", "--top", "3"),
    "find": ("find", "texts.txt", "ran", "he", "-m", "words", "-o", "n.csv"),
    "view": ("view", "the cat sat .", "-m", "words", "-o", "x.html"),
    "models": ("models", "words"),
    "attribute": ("attribute", "the cat sat on the", "-m", "writer", "-o", "t.csv"),
    "circuits": ("circuits", "copying", "-m", "writer", "-o", "y.csv"),
    "doctor": ("doctor",),
}


def make_work(folder: Path) -> Path:
    """Models, texts and a task; commands are run beside them."""
    kinds = ("words", "BertForPreTraining"), ("task", "BertForSequenceClassification")
    for name, kind in kinds:
        model = tiny_model(kind)
        for which in ("", "-other"):
            model = copy.deepcopy(model)
            if which:
                with torch.no_grad():
                    model.bert.encoder.layer[1].attention.self.key.weight += 0.05
            model.save_pretrained(folder / f"{name}{which}")
            tiny_tokenizer().save_pretrained(folder / f"{name}{which}")
    tiny_model("GPT2LMHeadModel").save_pretrained(folder / "writer")
    tiny_tokenizer().save_pretrained(folder / "writer")
    task = colours(48, 3)
    rows = [f"{t}\t{task.classes[n]}" for t, n in zip(task.texts, task.labels, strict=True)]
    (folder / "task.tsv").write_text("\n".join(["text\tlabel", *rows]))
    (folder / "texts.txt").write_text("\n".join(f"{one} . he ran ." for one in task.texts * 6))
    pair = {"corrupted": "the dog ran to the [MASK]", "answer": "red", "wrong": "blue"}
    lines = [{"clean": f"the {w} ran to the [MASK]", **pair} for w in ("cat", "tree", "house") * 4]
    (folder / "pairs.jsonl").write_text("\n".join(json.dumps(one) for one in lines))
    return folder
