"""Training itself: a recipe, batches in a seeded order, and a state from which it goes on.

Weights, optimiser, learning rate, place in the data and random state are kept, so that a run
that was stopped ends in the same model.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from headscope.errors import BadInput, HeadscopeError
from headscope.runs import Run, State
from headscope.runs.torch_state import pack_training, unpack_training
from headscope.tasks.fitting import room
from headscope.tasks.task import Task

CLIP = 1.0
LOOK_EVERY = 10  # steps: to look at the loss makes a GPU wait


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
    dropout: float | None = None  # None: what the model's own configuration says
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
    """Run the recipe; every tenth loss of this run comes back."""
    run = run or Run(None, {})
    part = run.part("training")
    total = -(-len(data) // recipe.batch_size) * recipe.epochs
    trainer = _Trainer(model, recipe, total)
    done = trainer.restore(part.recall())
    losses: list[float] = []
    model.train()
    for step, chosen in enumerate(_order(len(data), recipe)):
        if step < done:
            continue
        with part.step(trainer.state):
            loss = trainer.step(data, task, chosen)
        if step % LOOK_EVERY == 0 or step + 1 == total:
            losses.append(float(loss))
            trainer.check_finite()
            run.tell(step + 1, total, note=f"loss {losses[-1]:.3f}")
    model.eval()
    return losses


class _Trainer:
    """A model with all that training changes: weights, optimiser, learning rate, random state."""

    def __init__(self, model: Any, recipe: Recipe, total: int) -> None:
        self._model = model
        self._device = next(model.parameters()).device
        self._optimiser = _optimiser(model, recipe, self._device)
        self._schedule = torch.optim.lr_scheduler.LambdaLR(
            self._optimiser, lambda step: _rate(step, total, recipe.warmup)
        )
        self._done = 0
        self._lost = torch.zeros((), dtype=torch.bool, device=self._device)
        _seed(recipe.seed)

    def step(self, data: Encoded, task: Task, chosen: list[int]) -> Tensor:
        """One step of the optimiser; the loss before it."""
        inputs, targets = data.batch(chosen, self._device)
        logits = self._model(**inputs).logits
        if task.kind == "regression":
            loss = functional.mse_loss(logits[:, 0], targets)
        else:
            loss = functional.cross_entropy(logits, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(self._model.parameters(), CLIP)
        self._optimiser.step()
        self._schedule.step()
        self._optimiser.zero_grad(set_to_none=True)
        self._lost |= ~loss.detach().isfinite()
        self._done += 1
        return loss.detach()

    def check_finite(self) -> None:
        if bool(self._lost):
            raise HeadscopeError(
                f"The loss is not a number any more by step {self._done}; start anew (--restart) "
                "with a lower learning rate."
            )

    def state(self) -> State:
        arrays, groups = pack_training(self._model, self._optimiser)
        schedule = self._schedule.state_dict()
        return State({"steps": self._done, "groups": groups, "schedule": schedule}, arrays)

    def restore(self, state: State | None) -> int:
        """Go on from a state; how many steps it has done."""
        if state is not None:
            unpack_training(self._model, self._optimiser, state.arrays, state.position["groups"])
            self._schedule.load_state_dict(state.position["schedule"])
            self._done = int(state.position["steps"])
        return self._done


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


def pad_id(tokenizer: Any) -> int:
    for number in (tokenizer.pad_token_id, tokenizer.eos_token_id):
        if number is not None:
            return int(number)
    return 0
