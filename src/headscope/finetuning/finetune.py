"""Fine-tune a model on a task, by the protocol of Kovaleva et al. unless told otherwise.

The result is an ordinary model folder. A stopped run goes on where it was: weights, optimiser,
place in the data and random state are kept, so that a resumed run ends in the same model.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import random
import shutil
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from headscope.errors import BadInput, HeadscopeError
from headscope.files import atomic_path
from headscope.models.loading_report import check_complete
from headscope.models.open import BUNDLED, model_source
from headscope.models.placement import place
from headscope.models.pretrained import not_opened
from headscope.models.tokenizer_files import need_tokenizer, open_tokenizer
from headscope.runs.lock import only_writer
from headscope.statistics.survey.identity import model_fingerprint
from headscope.tasks.fitting import check_trainable, room
from headscope.tasks.task import Task

CHECKPOINT = "checkpoint.pt"
CLIP = 1.0
KEEP_SECONDS = 60  # a slow machine keeps a checkpoint at least this often
DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout")
Progress = Callable[[int, int, float], None]  # step, of how many, loss


@dataclass(frozen=True)
class Recipe:
    """How to train. The defaults are the paper's: 3 epochs, batches of 32, 5e-5, warm-up 0.1."""

    epochs: int = 3
    batch_size: int = 32
    learning_rate: float = 5e-5
    warmup: float = 0.1
    weight_decay: float = 0.01
    max_length: int = 128
    seed: int = 42
    dropout: float | None = None  # None: what the model's own configuration says
    from_scratch: bool = False  # random weights instead of the pre-trained ones

    def __post_init__(self) -> None:
        room(self.max_length)
        for wrong, sentence in (
            (self.epochs < 1, f"Training takes at least 1 epoch, not {self.epochs}."),
            (self.batch_size < 1, f"A batch holds at least 1 example, not {self.batch_size}."),
            (
                not self.learning_rate > 0,
                f"A learning rate is above 0, such as 5e-5, not {self.learning_rate}.",
            ),
            (not 0 <= self.warmup <= 1, f"The warm-up is a share of 0 to 1, not {self.warmup}."),
            (
                not 0 <= (self.dropout or 0) < 1,
                f"Dropout is a share from 0 to below 1, not {self.dropout}.",
            ),
        ):
            if wrong:
                raise BadInput(sentence)


PROTOCOL = Recipe()


@dataclass(frozen=True)
class Encoded:
    """A task as token numbers, kept as lists: batches are padded when they are drawn."""

    rows: list[dict[str, list[int]]]
    targets: Tensor
    pad: int

    def __len__(self) -> int:
        return len(self.rows)

    def batch(self, chosen: list[int], device: torch.device) -> tuple[dict[str, Tensor], Tensor]:
        rows = [self.rows[i] for i in chosen]
        longest = max(len(row["input_ids"]) for row in rows)
        inputs: dict[str, Tensor] = {}
        for name in rows[0]:
            fill = self.pad if name == "input_ids" else 0
            padded = [row[name] + [fill] * (longest - len(row[name])) for row in rows]
            inputs[name] = torch.tensor(padded, device=device)
        return inputs, self.targets[torch.tensor(chosen)].to(device)


def finetune(
    source: str | Path | None,
    task: Task,
    folder: str | Path,
    *,
    recipe: Recipe = PROTOCOL,
    device: str | None = None,
    keep_every: int = 200,
    progress: Progress | None = None,
) -> Path:
    """Train the model at `source` (None: the bundled one) on `task` and save it in `folder`."""
    check_trainable(task)
    folder = Path(folder).absolute()
    _check_free(folder)
    model, tokenizer = new_classifier(source, task, recipe)
    model = place(model, device or ("cuda" if torch.cuda.is_available() else "cpu"), None)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"The folder {folder} cannot be made ({error.strerror}); choose another."
        ) from error
    with only_writer(folder / CHECKPOINT):
        train(
            model,
            encode(tokenizer, task, recipe.max_length),
            task,
            recipe,
            checkpoint=folder / CHECKPOINT,
            keep_every=keep_every,
            progress=progress,
        )
    save(model, tokenizer, task, recipe, folder)
    return folder


def _check_free(folder: Path) -> None:
    """The finished model takes the folder's place, so nothing else may be in it."""
    if folder.is_file():
        raise BadInput(f"{folder} is a file; give the name of a folder for the model.")
    if (folder / "config.json").exists():
        raise BadInput(f"{folder} already holds a model; choose another folder or remove it.")
    ours = (CHECKPOINT, f".{CHECKPOINT}.")  # the checkpoint, its lock and one half written
    others = [] if not folder.is_dir() else [path.name for path in folder.iterdir()]
    if any(not name.startswith(ours) for name in others):
        raise BadInput(f"{folder} holds other files; give a new or an empty folder for the model.")


def new_classifier(source: str | Path | None, task: Task, recipe: Recipe) -> tuple[Any, Any]:
    """The model with a fresh head for the task, and its tokenizer."""
    from transformers import AutoConfig, AutoModelForSequenceClassification

    where = str(BUNDLED) if source is None else model_source(source)
    torch.manual_seed(recipe.seed)
    options: dict[str, Any] = {"num_labels": 1 if task.kind == "regression" else len(task.classes)}
    if task.classes:
        options["id2label"] = dict(enumerate(task.classes))
        options["label2id"] = {name: i for i, name in enumerate(task.classes)}
    try:
        # never asked for on the terminal: a folder's own code is not run here
        configuration: Any = AutoConfig.from_pretrained(where, trust_remote_code=False, **options)
        tokenizer = open_tokenizer(where)
        need_tokenizer(where, tokenizer)
        for name in DROPOUTS:
            if recipe.dropout is not None and hasattr(configuration, name):
                setattr(configuration, name, recipe.dropout)
        if recipe.from_scratch:
            # a configuration may ask for half precision, in which nothing can be trained
            model: Any = AutoModelForSequenceClassification.from_config(
                configuration, dtype=torch.float32
            )
        else:
            with _no_talk():  # that the head is new is what was asked for
                model, report = AutoModelForSequenceClassification.from_pretrained(
                    where,
                    config=configuration,
                    dtype=torch.float32,
                    trust_remote_code=False,
                    output_loading_info=True,
                )
            check_complete(model, where, report)
    except BadInput:
        raise
    except (OSError, ValueError, KeyError) as error:
        raise not_opened(where, error) from error
    if model.config.pad_token_id is None:
        model.config.pad_token_id = _pad_id(tokenizer)
    return model, tokenizer


def encode(tokenizer: Any, task: Task, max_length: int) -> Encoded:
    given = [list(task.texts)] if task.pairs is None else [list(task.texts), list(task.pairs)]
    encoded = tokenizer(*given, truncation=True, max_length=max_length)
    names = [name for name in encoded if name in tokenizer.model_input_names]
    rows = [{name: encoded[name][i] for name in names} for i in range(len(task))]
    kind = torch.long if task.kind == "classification" else torch.float32
    return Encoded(rows, torch.tensor(task.labels, dtype=kind), _pad_id(tokenizer))


def train(
    model: Any,
    data: Encoded,
    task: Task,
    recipe: Recipe,
    *,
    checkpoint: Path | None = None,
    keep_every: int = 200,
    progress: Progress | None = None,
) -> list[float]:
    """Run the recipe; the loss of every step of this run comes back."""
    device = next(model.parameters()).device
    per_epoch = -(-len(data) // recipe.batch_size)
    total = per_epoch * recipe.epochs
    optimiser = _optimiser(model, recipe, device)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: _rate(step, total, recipe.warmup)
    )
    _seed(recipe.seed)
    digest = _digest(model, task, recipe)
    done = _resume(checkpoint, model, optimiser, schedule, digest)
    losses: list[float] = []
    kept_at = time.monotonic()
    model.train()
    for step, chosen in enumerate(_order(len(data), recipe)):
        if step < done:
            continue
        inputs, targets = data.batch(chosen, device)
        logits = model(**inputs).logits
        if task.kind == "regression":
            loss = functional.mse_loss(logits[:, 0], targets)
        else:
            loss = functional.cross_entropy(logits, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad(set_to_none=True)
        due = (step + 1) % keep_every == 0 or time.monotonic() - kept_at > KEEP_SECONDS
        if checkpoint is not None and due and step + 1 < total:
            _keep(checkpoint, model, optimiser, schedule, step + 1, digest)
            kept_at = time.monotonic()
        if progress is not None and (step % 10 == 0 or step + 1 == total):
            losses.append(float(loss.detach()))
            progress(step + 1, total, losses[-1])
    model.eval()
    return losses


def save(model: Any, tokenizer: Any, task: Task, recipe: Recipe, folder: Path) -> None:
    """The finished model takes the place of the checkpoint, whole or not at all."""
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with _no_talk():
            model.save_pretrained(partial)
            tokenizer.save_pretrained(partial)
        about = {
            "task": task.name,
            "kind": task.kind,
            "classes": list(task.classes),
            "metric": task.metric,
            "examples": len(task),
            "recipe": dataclasses.asdict(recipe),
        }
        (partial / "headscope_task.json").write_text(json.dumps(about, indent=2) + "\n")
        shutil.rmtree(folder, ignore_errors=True)
        partial.replace(folder)
    except OSError as error:
        raise HeadscopeError(
            f"The model could not be saved in {folder} ({error.strerror}); the last checkpoint is "
            "kept, so the same command goes on from it."
        ) from error


def _optimiser(model: nn.Module, recipe: Recipe, device: torch.device) -> torch.optim.Optimizer:
    """Weights decay; biases and normalisations (one-dimensional parameters) do not."""
    decayed = [p for p in model.parameters() if p.dim() > 1]
    free = [p for p in model.parameters() if p.dim() <= 1]
    groups = [
        {"params": decayed, "weight_decay": recipe.weight_decay},
        {"params": free, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=recipe.learning_rate, fused=device.type == "cuda")


def _rate(step: int, total: int, warmup: float) -> float:
    """Up in a straight line over the warm-up, then down to nothing."""
    rising = max(1, int(total * warmup))
    if step < rising:
        return step / rising
    return max(0.0, (total - step) / max(1, total - rising))


def _order(count: int, recipe: Recipe) -> Iterator[list[int]]:
    for epoch in range(recipe.epochs):
        order = np.random.default_rng([recipe.seed, epoch]).permutation(count)
        for start in range(0, count, recipe.batch_size):
            yield [int(i) for i in order[start : start + recipe.batch_size]]


def _seed(seed: int) -> None:
    random.seed(seed)
    torch.manual_seed(seed)


def _digest(model: nn.Module, task: Task, recipe: Recipe) -> dict[str, Any]:
    """What decides the trained model: where it starts from, every example, and the recipe."""
    content = hashlib.sha256(repr((task.texts, task.pairs, task.classes)).encode())
    content.update(task.labels.tobytes())
    start = model_fingerprint(model)
    return {"model": start, "task": content.hexdigest(), **dataclasses.asdict(recipe)}


def _keep(
    path: Path, model: nn.Module, optimiser: Any, schedule: Any, step: int, digest: Any
) -> None:
    state = {
        "model": model.state_dict(),
        "optimiser": optimiser.state_dict(),
        "schedule": schedule.state_dict(),
        "step": step,
        "random": torch.get_rng_state(),
        "cuda_random": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "digest": json.dumps(digest, sort_keys=True),
    }
    with atomic_path(path) as temporary:
        torch.save(state, temporary)


def _resume(path: Path | None, model: nn.Module, optimiser: Any, schedule: Any, digest: Any) -> int:
    """How many steps an earlier run has done; its state is put back."""
    if path is None or not path.exists():
        return 0
    try:
        state: Any = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise HeadscopeError(f"{path} cannot be read; remove it to start again.") from error
    if state["digest"] != json.dumps(digest, sort_keys=True):
        raise BadInput(
            f"{path.parent} holds an unfinished run with other settings, data or model; go on with "
            "those, remove the folder, or choose another."
        )
    model.load_state_dict(state["model"])
    optimiser.load_state_dict(state["optimiser"])
    schedule.load_state_dict(state["schedule"])
    torch.set_rng_state(state["random"])
    if state["cuda_random"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda_random"])
    return int(state["step"])


@contextlib.contextmanager
def _no_talk() -> Generator[None]:
    from transformers.utils import logging

    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()


def _pad_id(tokenizer: Any) -> int:
    for number in (tokenizer.pad_token_id, tokenizer.eos_token_id):
        if number is not None:
            return int(number)
    return 0
