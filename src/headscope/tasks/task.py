"""Tasks: texts with labels a model is scored on, read from plain files.

A task holds texts (or pairs of texts) and what the right answer is: a class, a number, or, for
language tasks, the text itself (masked words, next tokens). Reading needs nothing but the
standard library and numpy, so that a training machine can read the same files.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from headscope.corpus.sample import OPINIONS, PARAGRAPHS, or_sample
from headscope.corpus.tables import TEXT, TEXT_PAIR, TableRows, file_text, read_rows
from headscope.errors import BadInput
from headscope.renamed import former, renamed

TaskKind = Literal["classification", "regression", "masked", "next"]
KINDS: tuple[TaskKind, ...] = get_args(TaskKind)

LABEL = ("label", "labels", "gold_label", "score", "target", "class", "is_duplicate")
MOST_CLASSES = 20  # whole numbers with more distinct values than this are taken for a scale


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

    def sample(self, limit: int | None, seed: int = 0) -> Task:
        """At most `limit` examples drawn at random, in their first order."""
        if limit is not None and limit < 1:
            raise BadInput(f"A limit is at least 1, not {limit}.")
        if limit is None or limit >= len(self):
            return self
        drawn = np.random.default_rng(seed).choice(len(self), size=limit, replace=False)
        return self.select(np.sort(drawn))

    pairs, take = former("pairs", "text_pairs"), former("take", "select")


def language_task(name: str, texts: Sequence[str], kind: TaskKind = "masked") -> Task:
    """The task of guessing the text itself: its masked words or its next tokens."""
    kept = tuple(text for text in texts if text.strip())
    if not kept:
        raise BadInput(f"{name} holds no text; give a file with one text a line.")
    return Task(name, kind, kept, None, np.zeros(len(kept)), (), "loss")


@renamed(pair="text_pair")
def read_task(
    source: str | Path,
    *,
    split: str = "dev",
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    kind: str | None = None,
    classes: Sequence[str] | None = None,
    metric: str | None = None,
) -> Task:
    """The task in a GLUE folder, a .tsv, .csv, .jsonl or .txt file, or a dataset of `datasets`.

    `text`, `text_pair` and `label` name columns where the usual names do not fit. Without labels
    (`kind` "masked" or "next", or a .txt file) the task is the text itself.
    """
    from headscope.tasks.glue import is_glue, read_glue

    source = or_sample(source, OPINIONS if split == "train" or label is not None else PARAGRAPHS)
    path = Path(source)
    known = _known_kind(kind)
    if path.is_dir() and is_glue(path) and text is None and label is None:
        task = read_glue(path, split)
        return task if metric is None else dataclasses.replace(task, metric=metric)
    if path.suffix == ".txt" and path.is_file() and label is None:
        return language_task(path.stem, file_text(path).splitlines(), known or "masked")
    rows = read_rows(source, split)
    name = path.stem or str(source)
    texts = rows.column(text, TEXT, "text")
    if known in ("masked", "next"):
        return language_task(name, texts, known)
    paired = text_pair is not None or rows.has(TEXT_PAIR)
    pairs = rows.column(text_pair, TEXT_PAIR, "text-pair") if paired else None
    return labelled_task(
        name,
        texts,
        pairs,
        _labels(rows, label),
        kind=known,
        classes=classes or rows.classes,
        metric=metric,
    )


def table_texts(source: str | Path) -> list[str | tuple[str, str]]:
    """The texts of a .tsv or .csv file, in pairs where it has them; labels do not matter here."""
    rows = read_rows(source, "dev")
    texts = rows.column(None, TEXT, "text")
    if not rows.has(TEXT_PAIR):
        return list(texts)
    return list(zip(texts, rows.column(None, TEXT_PAIR, "text-pair"), strict=True))


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
    """A task from columns of text; whether the labels are classes or numbers is seen from them."""
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


def _known_kind(kind: str | None) -> TaskKind | None:
    for known in KINDS:
        if kind == known:
            return known
    if kind is None:
        return None
    raise BadInput(f"There is no kind of task {kind!r}; choose one of {', '.join(KINDS)}.")


def _labels(rows: TableRows, label: str | None) -> list[str]:
    if label is None and not rows.has(LABEL):
        raise BadInput(
            f"{rows.name} has no column of labels among {rows.names}; name it with --label (label= "
            "in Python), or choose the kind masked or next to score the text itself."
        )
    labels = rows.column(label, LABEL, "label")
    for number, one in enumerate(labels, start=1):
        if not one.strip():
            raise BadInput(
                f"{rows.name}: example {number} has no label; give it one or leave it out."
            )
    return labels


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
