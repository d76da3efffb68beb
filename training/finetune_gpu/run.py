"""Fine-tune a model on GLUE tasks with several seeds, and measure what every head is worth.

    PYTHONPATH=src:. python -m training.finetune_gpu.run --glue DIR --out DIR

Needs torch, transformers, numpy and scikit-learn. Writes results.json (scores, baselines),
answers.npz (the answers under every single-head and single-layer edit, from which
`python -m training.finetune_gpu.report` makes the tables and figures of the docs), change.npz
(how far fine-tuning moved every head, and gradient importance) and the models named by --keep.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from headscope.edits.ablate import single_edits
from headscope.edits.answers import answer, answer_each
from headscope.edits.importance import importance
from headscope.finetuning.change import change
from headscope.finetuning.finetune import new_classifier
from headscope.finetuning.training import Recipe, encode, train
from headscope.reading.scope import Scope
from headscope.tasks.baselines import baselines
from headscope.tasks.glue import read_glue
from headscope.tasks.metrics import METRICS
from headscope.tasks.questions import make_questions
from headscope.text.tokenise import Batch, tokenise

TASKS = ("RTE", "MRPC", "STS-B", "SST-2", "CoLA")
ALSO = {"MRPC": ("accuracy",), "STS-B": ("spearman",), "CoLA": ("accuracy",)}
ANALYSED = 1000  # examples of a development set used for the change of the maps
PADDED = 200  # the length the authors pad their maps to
DROPOUT = 0.1  # BERT's own; the bundled model was pre-trained without
SHARD = 15 << 20  # bytes of a model file


def main() -> None:
    options = _options()
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    results: dict[str, Any] = {
        "model": Path(options.model).name,
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "recipe": dataclasses.asdict(_recipe(options, options.first_seed)),
        "seeds": _seeds(options),
        "tasks": {},
        "runs": [],
    }
    changes: dict[str, np.ndarray] = {}
    answers: dict[str, np.ndarray] = {}
    for seed in _seeds(options):
        for task in options.tasks:
            left = options.seconds - (time.monotonic() - started)
            if left < 0:
                print(f"stopped before {task}, seed {seed}: the time is spent")
                continue
            run = _one(options, task, seed, answers, changes, results)
            results["runs"].append(run)
            _write(out, results, changes)
            _save_arrays(out / "answers.npz", answers)
            print(f"{time.monotonic() - started:6.1f} s  {json.dumps(run)}", flush=True)
    results["seconds"] = time.monotonic() - started
    _write(out, results, changes)


def _recipe(options: argparse.Namespace, seed: int) -> Recipe:
    return Recipe(
        seed=42 + seed, epochs=options.epochs, learning_rate=options.rate, dropout=DROPOUT
    )


def _seeds(options: argparse.Namespace) -> list[int]:
    return list(range(options.first_seed, options.first_seed + options.seeds))


def _one(
    options: argparse.Namespace,
    name: str,
    seed: int,
    answers: dict[str, np.ndarray],
    changes: dict[str, np.ndarray],
    results: dict[str, Any],
) -> dict[str, Any]:
    """One task and seed: train, score, disable every head and layer, compare with before."""
    folder = Path(options.glue) / name
    training = read_glue(folder, "train").sample(options.limit)
    dev = read_glue(folder, "dev").sample(options.limit)
    recipe = _recipe(options, seed)
    _say(name, seed, "opening the model")
    model, tokenizer = new_classifier(options.model, training, recipe)
    scope = _scope(model, tokenizer, name)
    questions = make_questions(scope, dev, batch_size=64)
    if name not in results["tasks"]:
        results["tasks"][name] = {
            "metric": dev.metric,
            "train": len(training),
            "dev": len(dev),
            "floor": dataclasses.asdict(baselines(training, dev)),
        }
    run: dict[str, Any] = {"task": name, "seed": seed}
    _say(name, seed, "training")
    run["before"] = _scores(name, answer(scope, questions), questions)
    clock = time.monotonic()
    losses = train(model, encode(tokenizer, training, recipe.max_tokens), training, recipe)
    run["training_seconds"] = round(time.monotonic() - clock, 2)
    run["last_loss"] = float(np.mean(losses[-5:]))
    _say(name, seed, "disabling every head and layer")
    clock = time.monotonic()
    layers, heads = scope.layers["encoder"], scope.heads["encoder"]
    edits = single_edits(range(layers), heads, ("heads", "layers"))
    swept = answer_each(scope, questions, edits, copies=options.copies)
    run["ablation_seconds"] = round(time.monotonic() - clock, 2)
    run["after"] = _scores(name, swept.baseline, questions)
    answers[f"{name}/{seed}/baseline"] = swept.baseline.astype(np.float32)
    answers[f"{name}/{seed}/edited"] = swept.edited.astype(np.float16)
    answers[f"{name}/labels"] = questions.labels
    _say(name, seed, "weighing heads, and comparing with before")
    weighed = importance(scope, questions)
    changes[f"{name}/{seed}/importance"] = weighed.size
    changes[f"{name}/{seed}/slope"] = weighed.slope
    before = _scope(*new_classifier(options.model, training, recipe), name)
    found = change(before, scope, _batches(before, dev.sample(ANALYSED)))
    changes[f"{name}/{seed}/cosine"] = found.cosine
    changes[f"{name}/{seed}/cosine_padded"] = found.cosine_padded
    changes[f"{name}/{seed}/divergence"] = found.divergence
    if seed == 0:
        if name in options.keep:
            _save_model(model, Path(options.out), name)
        _say(name, seed, "training again from random weights")
        other = dataclasses.replace(recipe, from_scratch=True)
        fresh, _ = new_classifier(options.model, training, other)
        fresh_scope = _scope(fresh, tokenizer, name)
        train(fresh, encode(tokenizer, training, recipe.max_tokens), training, other)
        run["from_scratch"] = _scores(name, answer(fresh_scope, questions), questions)
    return run


def _say(name: str, seed: int, phase: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {name}, seed {seed}: {phase}", flush=True)


def _scope(model: Any, tokenizer: Any, name: str) -> Scope:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return Scope(model.to(device).eval(), tokenizer, name)


def _scores(name: str, answers: np.ndarray, questions: Any) -> dict[str, float]:
    metrics = [questions.metric, *(METRICS[other] for other in ALSO.get(name, ()))]
    return {metric.name: metric(answers, questions.labels) for metric in metrics}


def _batches(scope: Scope, task: Any, size: int = 32) -> Any:
    """Batches padded to one length, so that the padded comparison is the authors' own."""
    longest = min(PADDED, scope.max_tokens or PADDED)
    for start in range(0, len(task), size):
        part = task.select(range(start, min(start + size, len(task))))
        pairs = None if part.text_pairs is None else list(part.text_pairs)
        batch = tokenise(
            scope.tokenizer, list(part.texts), pairs, max_tokens=longest, truncate=True
        )
        short = longest - batch.inputs["input_ids"].shape[1]
        padded = {
            key: torch.nn.functional.pad(
                value, (0, short), value=scope.tokenizer.pad_token_id if key == "input_ids" else 0
            )
            for key, value in batch.inputs.items()
        }
        yield Batch(padded, batch.tokens).to(scope.device)


def _save_model(model: Any, out: Path, task: str) -> None:
    """Half precision, in files of at most SHARD bytes: model-<task>-0.safetensors, -1, …"""
    shards: list[dict[str, torch.Tensor]] = [{}]
    size = 0
    for name, value in model.state_dict().items():
        half = value.half().contiguous().cpu()
        bytes_ = half.numel() * 2
        if shards[-1] and size + bytes_ > SHARD:
            shards.append({})
            size = 0
        shards[-1][name] = half
        size += bytes_
    for number, shard in enumerate(shards):
        save_file(shard, out / f"model-{task}-{number}.safetensors", metadata={"format": "pt"})


def _write(out: Path, results: dict[str, Any], changes: dict[str, np.ndarray]) -> None:
    (out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    _save_arrays(out / "change.npz", changes)


def _save_arrays(path: Path, arrays: dict[str, Any]) -> None:
    np.savez_compressed(path, **arrays)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--glue", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--model", default="src/headscope/models/bundled")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0, help="to run seeds side by side")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=Recipe().learning_rate)
    parser.add_argument("--tasks", nargs="+", default=TASKS)
    parser.add_argument("--keep", nargs="*", default=("RTE", "SST-2"))
    parser.add_argument("--copies", type=int, default=24)
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=270)
    return parser.parse_args()


if __name__ == "__main__":
    main()
