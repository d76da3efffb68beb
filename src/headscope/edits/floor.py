"""The floor: what a task's score is worth without a model.

Two baselines: always the commonest class (the mean, for numbers), and a bag of words: a linear
model on which words occur, for pairs also on which words both sentences share.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from headscope.corpus.tasks import Task
from headscope.edits.metrics import find_metric

WORD = re.compile(r"\w+|[^\w\s]")
STEPS = 150
DECAYS = (1e-5, 1e-4, 1e-3, 1e-2)  # the best on a tenth of the training set is used


@dataclass(frozen=True)
class Floor:
    """The score of each baseline on the development set, in the task's metric."""

    majority: float
    bag_of_words: float


def floor(train: Task, dev: Task, vocabulary: int = 20_000) -> Floor:
    metric = find_metric(dev.metric)
    if dev.kind == "regression":
        plain = np.full((len(dev), 1), train.labels.mean())
    else:
        commonest = Counter(train.labels.tolist()).most_common(1)[0][0]
        plain = np.zeros((len(dev), len(train.classes)))
        plain[:, commonest] = 1
    return Floor(
        metric(plain, dev.labels), metric(bag_of_words(train, dev, vocabulary), dev.labels)
    )


def bag_of_words(train: Task, dev: Task, vocabulary: int = 20_000) -> np.ndarray:
    """n o: the answers of a linear model on word counts."""
    counts: Counter[str] = Counter()
    for i in range(len(train)):
        counts.update(_features(train, i))
    known = {name: i for i, (name, _) in enumerate(counts.most_common(vocabulary))}
    inside, outside = _matrix(train, known), _matrix(dev, known)
    held = np.random.default_rng(0).random(len(train)) < 0.1
    metric = find_metric(dev.metric)
    best = max(
        DECAYS,
        key=lambda decay: metric(
            _fit(inside, train, ~held, decay)(inside)[held], train.labels[held]
        ),
    )
    return _fit(inside, train, np.ones(len(train), dtype=bool), best)(outside)


def _features(task: Task, i: int) -> set[str]:
    first = set(WORD.findall(task.texts[i].lower()))
    if task.pairs is None:
        return first
    second = set(WORD.findall(task.pairs[i].lower()))
    shared = len(first & second) / max(1, len(first | second))
    return (
        {f"1 {word}" for word in first}
        | {f"2 {word}" for word in second}
        | {f"both {word}" for word in first & second}
        | {f"overlap {int(10 * shared)}"}
    )


def _matrix(task: Task, known: dict[str, int]) -> Tensor:
    """n v, sparse: which features occur, each row of unit length."""
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    for i in range(len(task)):
        found = [known[name] for name in _features(task, i) if name in known]
        rows += [i] * len(found)
        columns += found
        values += [len(found) ** -0.5] * len(found)
    return torch.sparse_coo_tensor(
        torch.tensor([rows, columns]),
        torch.tensor(values),
        (len(task), len(known)),
        check_invariants=True,
    ).coalesce()


def _fit(
    matrix: Tensor, task: Task, used: np.ndarray, decay: float
) -> Callable[[Tensor], np.ndarray]:
    """A ridge or logistic regression by L-BFGS; the function gives n o for a matrix."""
    outputs = max(1, len(task.classes))
    weight = torch.zeros(matrix.shape[1], outputs, requires_grad=True)
    bias = torch.zeros(outputs, requires_grad=True)
    chosen = torch.from_numpy(used)
    labels = torch.from_numpy(task.labels)
    optimiser = torch.optim.LBFGS([weight, bias], max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimiser.zero_grad()
        scores = (torch.sparse.mm(matrix, weight) + bias)[chosen]
        if task.kind == "regression":
            lost = ((scores[:, 0] - labels[chosen]) ** 2).mean()
        else:
            lost = torch.nn.functional.cross_entropy(scores, labels[chosen])
        total = lost + decay * (weight**2).sum()
        total.backward()
        return total

    optimiser.step(loss)
    final_weight, final_bias = weight.detach(), bias.detach()

    def answers(other: Tensor) -> np.ndarray:
        return (torch.sparse.mm(other, final_weight) + final_bias).numpy()

    return answers
