"""Baselines: a task's score without a model.

Two baselines: always the commonest class (the mean, for numbers), and a bag of words: a linear
model on which words occur, for pairs also on which words both sentences share.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from headscope.tasks.metrics import find_metric
from headscope.tasks.task import Task

WORD = re.compile(r"\w+|[^\w\s]")
STRENGTHS = (0.1, 1.0, 10.0)  # inverse penalties; the best on a tenth of the training set is used
STEPS = 200
FEW = 100


@dataclass(frozen=True)
class Baselines:
    """The score of each baseline on the development set, in the task's metric."""

    majority: float
    bag_of_words: float


def baselines(train: Task, dev: Task) -> Baselines:
    metric = find_metric(dev.metric)
    if dev.kind == "regression":
        plain = np.full((len(dev), 1), train.labels.mean())
    else:
        commonest = Counter(train.labels.tolist()).most_common(1)[0][0]
        plain = np.zeros((len(dev), len(train.classes)))
        plain[:, commonest] = 1
    return Baselines(metric(plain, dev.labels), metric(bag_of_words(train, dev), dev.labels))


def bag_of_words(train: Task, dev: Task) -> np.ndarray:
    """n o: the answers of a linear model on which words occur."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    # words that occur once do not generalise; with few examples every word counts
    options: dict[str, Any] = {"analyzer": _features, "min_df": 2 if len(train) > FEW else 1}
    words: Any = TfidfVectorizer(binary=True, use_idf=False, **options)
    inside = words.fit_transform([_example(train, i) for i in range(len(train))])
    outside = words.transform([_example(dev, i) for i in range(len(dev))])
    held = np.random.default_rng(0).random(len(train)) < 0.1
    best = STRENGTHS[1]
    if held.any() and len(set(train.labels[~held].tolist())) > 1:
        metric = find_metric(dev.metric)

        def held_out(strength: float) -> float:
            fitted = _fit(inside[~held], train, train.labels[~held], strength)
            return metric(_answers(fitted, inside[held], train), train.labels[held])

        best = max(STRENGTHS, key=held_out)
    return _answers(_fit(inside, train, train.labels, best), outside, train)


def _example(task: Task, i: int) -> tuple[str, str | None]:
    return task.texts[i], None if task.text_pairs is None else task.text_pairs[i]


def _features(example: tuple[str, str | None]) -> set[str]:
    first = set(WORD.findall(example[0].lower()))
    if example[1] is None:
        return first
    second = set(WORD.findall(example[1].lower()))
    shared = len(first & second) / max(1, len(first | second))
    return (
        {f"1 {word}" for word in first}
        | {f"2 {word}" for word in second}
        | {f"both {word}" for word in first & second}
        | {f"overlap {int(10 * shared)}"}
    )


def _fit(matrix: Any, task: Task, labels: np.ndarray, strength: float) -> Any:
    from sklearn.linear_model import LogisticRegression, Ridge

    if task.kind == "regression":
        return Ridge(alpha=1 / strength).fit(matrix, labels)
    return LogisticRegression(C=strength, max_iter=STEPS).fit(matrix, labels)


def _answers(fitted: Any, matrix: Any, task: Task) -> np.ndarray:
    if task.kind == "regression":
        return fitted.predict(matrix)[:, None]
    answers = np.zeros((matrix.shape[0], len(task.classes)))
    answers[:, fitted.classes_] = fitted.predict_proba(matrix)
    return answers
