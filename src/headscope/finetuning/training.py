"""Training itself: a recipe, batches in a seeded order, and checkpoints to resume from.

A checkpoint holds the weights, the optimiser, the learning rate, the number of steps and the random
state, so that a resumed run ends in the same model.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from headscope.errors import BadInput, HeadscopeError
from headscope.runs import Run, State
from headscope.runs.torch_state import packed, unpacked
from headscope.tasks.fitting import room
from headscope.tasks.task import Task

CLIP = 1.0
LOOK_EVERY = 10  # steps: reading the loss makes a GPU wait


@dataclass(frozen=True)
class Recipe:
    """How to train. The defaults are the paper's: 3 epochs, batches of 32, 5e-5, warm-up 0.1."""

    epochs: int = 3
    batch_size: int = 32
    learning_rate: float = 5e-5
    warmup: float = 0.1
    weight_decay: float = 0.01
    max_tokens: int = 128
    seed: int = 42
    dropout: float | None = None  # None: as in the model's configuration
    from_scratch: bool = False  # random weights instead of the pre-trained ones

    def __post_init__(self) -> None:
        room(self.max_tokens)
        for wrong, sentence in (
            (self.epochs < 1, f"Training takes at least 1 epoch, not {self.epochs}."),
            (self.batch_size < 1, f"A batch holds at least 1 example, not {self.batch_size}."),
            (
                not 0 < self.learning_rate < float("inf"),
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


def encode(tokenizer: Any, task: Task, max_tokens: int) -> Encoded:
    given = (
        [list(task.texts)] if task.text_pairs is None else [list(task.texts), list(task.text_pairs)]
    )
    encoded = tokenizer(*given, truncation=True, max_length=max_tokens)
    names = [name for name in encoded if name in tokenizer.model_input_names]
    rows = [{name: encoded[name][i] for name in names} for i in range(len(task))]
    kind = torch.long if task.kind == "classification" else torch.float32
    return Encoded(rows, torch.tensor(task.labels, dtype=kind), pad_id(tokenizer))


def train(
    model: Any, data: Encoded, task: Task, recipe: Recipe, run: Run | None = None
) -> list[float]:
    """Run the recipe; returns every tenth loss of this run."""
    from transformers import get_linear_schedule_with_warmup

    run = run or Run(None, {})
    part = run.part("training")
    total = -(-len(data) // recipe.batch_size) * recipe.epochs
    device = next(model.parameters()).device
    optimiser = _optimiser(model, recipe, device)
    rising = max(1, int(total * recipe.warmup))
    schedule = get_linear_schedule_with_warmup(optimiser, rising, total)
    torch.manual_seed(recipe.seed)
    done = 0
    if (state := part.recall()) is not None:
        kept = unpacked(state.arrays)
        model.load_state_dict(kept["model"])
        optimiser.load_state_dict(kept["optimiser"])
        schedule.load_state_dict(kept["schedule"])
        done = int(state.position["steps"])

    def now() -> State:
        arrays = packed(
            model=model.state_dict(), optimiser=optimiser.state_dict(),
            schedule=schedule.state_dict(),
        )  # fmt: skip
        return State({"steps": done}, arrays)

    losses: list[float] = []
    finite = torch.ones((), dtype=torch.bool, device=device)
    model.train()
    for chosen in itertools.islice(_order(len(data), recipe), done, None):
        with part.step(now):
            loss = _loss(model, *data.batch(chosen, device), task)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimiser.step()
            schedule.step()
            optimiser.zero_grad(set_to_none=True)
            finite &= loss.detach().isfinite()
            done += 1
        if done % LOOK_EVERY == 1 % LOOK_EVERY or done == total:
            losses.append(float(loss.detach()))
            if not bool(finite):
                raise HeadscopeError(
                    f"The loss was NaN by step {done}; start again (--restart) with a lower "
                    f"learning rate."
                )
            run.tell(done, total, note=f"loss {losses[-1]:.3f}")
    model.eval()
    return losses


def _loss(model: Any, inputs: dict[str, Tensor], targets: Tensor, task: Task) -> Tensor:
    logits = model(**inputs).logits
    if task.kind == "regression":
        return functional.mse_loss(logits[:, 0], targets)
    return functional.cross_entropy(logits, targets)


def _optimiser(model: nn.Module, recipe: Recipe, device: torch.device) -> torch.optim.Optimizer:
    """Weights decay; biases and normalisations (one-dimensional parameters) do not."""
    decayed = [p for p in model.parameters() if p.dim() > 1]
    free = [p for p in model.parameters() if p.dim() <= 1]
    groups = [
        {"params": decayed, "weight_decay": recipe.weight_decay},
        {"params": free, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=recipe.learning_rate, fused=device.type == "cuda")


def _order(count: int, recipe: Recipe) -> Iterator[list[int]]:
    for epoch in range(recipe.epochs):
        order = np.random.default_rng([recipe.seed, epoch]).permutation(count)
        for start in range(0, count, recipe.batch_size):
            yield [int(i) for i in order[start : start + recipe.batch_size]]


def pad_id(tokenizer: Any) -> int:
    for number in (tokenizer.pad_token_id, tokenizer.eos_token_id):
        if number is not None:
            return int(number)
    return 0
