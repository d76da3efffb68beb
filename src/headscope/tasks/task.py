"""Tasks: texts with labels for scoring a model, read from plain files.

A task holds texts (or pairs of texts) and what the right answer is: a class, a number, or, for
language tasks, the text itself (masked words, next tokens). Reading needs only the standard library
and numpy, so that a training machine can read the same files.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from headscope.arguments import need_count
from headscope.errors import BadInput

TaskKind = Literal["classification", "regression", "masked", "next"]
MOST_CLASSES = 20  # whole numbers with more distinct values are a scale


@dataclass(frozen=True)
class Task:
    """Texts and their answers, and the metric that scores a model on them."""

    name: str
    kind: TaskKind
    texts: tuple[str, ...]
    text_pairs: tuple[str, ...] | None
    labels: np.ndarray  # n: int64 class numbers, float64 targets, or zeros for language tasks
    classes: tuple[str, ...]  # the classes' names in the order of their numbers; () for the rest
    metric: str

    def __len__(self) -> int:
        return len(self.texts)

    def select(self, chosen: Sequence[int] | np.ndarray) -> Task:
        """The task with these examples only, in this order."""
        index = [int(i) for i in chosen]
        return dataclasses.replace(
            self,
            texts=tuple(self.texts[i] for i in index),
            text_pairs=(
                None if self.text_pairs is None else tuple(self.text_pairs[i] for i in index)
            ),
            labels=self.labels[np.array(index, dtype=np.int64)],
        )

    def first(self, limit: int | None) -> Task:
        """At most the first `limit` examples; all of them without one."""
        need_count(limit, "limit")
        if limit is None or limit >= len(self):
            return self
        return self.select(np.arange(limit))

    def sample(self, n: int | None, seed: int = 0) -> Task:
        """At most `n` examples drawn at random, in their first order."""
        need_count(n, "sample")
        if n is None or n >= len(self):
            return self
        drawn = np.random.default_rng(seed).choice(len(self), size=n, replace=False)
        return self.select(np.sort(drawn))


def language_task(name: str, texts: Sequence[str], kind: TaskKind = "masked") -> Task:
    """The task of guessing the text itself: its masked words or its next tokens."""
    kept = tuple(text for text in texts if text.strip())
    if not kept:
        raise BadInput(f"{name} holds no text; give a file with one text per line.")
    return Task(name, kind, kept, None, np.zeros(len(kept)), (), "loss")


def labelled_task(
    name: str,
    texts: Sequence[str],
    pairs: Sequence[str] | None,
    labels: Sequence[str],
    *,
    kind: TaskKind | None = None,
    classes: Sequence[str] | None = None,
    metric: str | None = None,
) -> Task:
    """A task from columns of text; the labels themselves decide between classes and numbers."""
    if not texts:
        raise BadInput(f"{name} holds no examples.")
    if kind is None:
        kind = "regression" if not classes and _is_scale(labels) else "classification"
    if kind == "regression":
        try:
            numbers = np.array([float(label) for label in labels])
        except ValueError:
            odd = next(label for label in labels if not _is_number(label))
            raise BadInput(f"{name}: the label {odd!r} is not a number.") from None
        if not np.isfinite(numbers).all():
            odd = labels[int(np.flatnonzero(~np.isfinite(numbers))[0])]
            raise BadInput(f"{name}: the label {odd!r} is not a finite number.")
        named: tuple[str, ...] = ()
    else:
        named = tuple(classes) if classes else _class_names(labels)
        number = {label: i for i, label in enumerate(named)}
        unknown = [label for label in labels if label not in number]
        if unknown:
            raise BadInput(
                f"{name} has the label {unknown[0]!r}, which is none of {', '.join(named)}."
            )
        numbers = np.array([number[label] for label in labels], dtype=np.int64)
    return Task(
        name,
        kind,
        tuple(texts),
        None if pairs is None else tuple(pairs),
        numbers,
        named,
        metric or ("pearson" if kind == "regression" else "accuracy"),
    )


def _class_names(labels: Sequence[str]) -> tuple[str, ...]:
    distinct = set(labels)
    if all(_is_number(label) for label in distinct):
        return tuple(sorted(distinct, key=float))
    return tuple(sorted(distinct))


def _is_scale(labels: Sequence[str]) -> bool:
    distinct = set(labels)
    if not all(_is_number(label) for label in distinct):
        return False
    return len(distinct) > MOST_CLASSES or any(float(label) % 1 for label in distinct)


def _is_number(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    return True
