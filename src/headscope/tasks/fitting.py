"""Checks that a model, a task and a metric fit, before anything long begins."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from headscope.errors import BadInput
from headscope.models.loading_report import check_output_layer
from headscope.tasks.metrics import Metric, find_metric
from headscope.tasks.task import Task, TaskKind

if TYPE_CHECKING:
    from headscope.reading import Scope

FITTING: dict[TaskKind, tuple[str, ...]] = {
    "classification": ("accuracy", "f1", "matthews"),
    "regression": ("pearson", "spearman"),
    "masked": ("loss",),
    "next": ("loss",),
}
OF_TWO_CLASSES = ("f1", "matthews")
LEAST_ROOM = 8  # tokens: special ones and a few words
SHOWN = 5  # most class names in a sentence


def fitting(scope: Scope, task: Task) -> Task:
    """The task, its classes numbered as in the model's output layer; raises if they do not fit."""
    of_words = task.kind in ("masked", "next")
    check_output_layer(scope.model, scope.name, "words" if of_words else "classes")
    if task.kind in ("masked", "next"):
        _check_words(scope, task)
        return task
    name: str = type(scope.model).__name__
    if "SequenceClassification" not in name:
        raise BadInput(
            f"{name} has no output layer of classes, which {task.name} needs; make one with "
            f"`headscope finetune`, or score its language loss with the kind masked or next."
        )
    outputs = int(scope.model.config.num_labels)
    if task.kind == "regression":
        if outputs != 1:
            raise BadInput(
                f"The model's output layer knows {outputs} classes and {task.name} asks for one "
                "number; fine-tune the model on this task first."
            )
        return task
    known = scope.model.config.id2label
    names = [str(known.get(number, number)) for number in range(outputs)]
    if set(task.classes) <= set(names):
        # by name: a file may lack a class, or list them in another order
        numbers = np.array([names.index(one) for one in task.classes], dtype=np.int64)
        return dataclasses.replace(task, labels=numbers[task.labels], classes=tuple(names))
    if outputs != len(task.classes):
        head = "gives one number" if outputs == 1 else f"knows {_listed(names)}"
        raise BadInput(
            f"The model's head {head} and {task.name} has {_listed(task.classes)}; "
            "fine-tune the model on this task first."
        )
    return task


def metric_for(task: Task, name: object) -> Metric:
    """The metric of that name, or the task's own, if it fits such answers."""
    metric = find_metric(str(name or task.metric))
    usable = FITTING[task.kind]
    if task.kind == "classification" and len(task.classes) != 2:
        usable = tuple(one for one in usable if one not in OF_TWO_CLASSES)
    if metric.name not in usable:
        raise BadInput(
            f"The metric {metric.name} does not fit {task.name} ({_said(task)}), which is marked "
            f"by {', '.join(usable)}."
        )
    return metric


def check_trainable(task: Task) -> None:
    """Check that a classifier can learn the task and be scored by its metric."""
    if task.kind not in ("classification", "regression"):
        raise BadInput(f"{task.name} has no labels to train on; give a task with labels.")
    if len(task.classes) == 1:
        raise BadInput(
            f"Every example of {task.name} has the label {task.classes[0]!r}, so there "
            "is nothing to learn; give a task with at least two."
        )
    metric_for(task, None)


def room(max_tokens: int) -> int:
    """Check the length that texts are cut to."""
    if max_tokens < LEAST_ROOM:
        raise BadInput(f"Texts need room for at least {LEAST_ROOM} tokens, not {max_tokens}.")
    return max_tokens


def _check_words(scope: Scope, task: Task) -> None:
    if scope.encoder_decoder:
        raise BadInput(
            f"{scope.name} is an encoder-decoder, so a text by itself has no {task.kind} loss; "
            f"give Questions of your own (see Scoring a task in docs/how-to/edits.md)."
        )
    if scope.model.get_output_embeddings() is None:
        raise BadInput(
            f"{type(scope.model).__name__} has no output layer of words, so {task.name} "
            "cannot be scored; load the model as it was pretrained, or give a task with labels."
        )
    if task.kind == "next" and not scope.causal:
        raise BadInput(
            f"{scope.name} attends in both directions and so sees the next token; choose the "
            f"kind masked."
        )
    if task.kind == "masked" and scope.tokenizer.mask_token_id is None:
        raise BadInput(f"{scope.name} has no mask token; choose the kind next instead of masked.")
    if task.kind == "masked" and scope.causal:
        raise BadInput(
            f"{scope.name} continues text and does not fill in masked words; choose the kind next."
        )


def _listed(names: Sequence[str]) -> str:
    more = ", …" if len(names) > SHOWN else ""
    word = "class" if len(names) == 1 else "classes"
    return f"{len(names)} {word} ({', '.join(names[:SHOWN])}{more})"


def _said(task: Task) -> str:
    if task.kind == "classification":
        return f"{len(task.classes)} classes"
    return {"regression": "numbers", "masked": "masked words", "next": "next tokens"}[task.kind]
