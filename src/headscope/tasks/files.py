"""Tasks read from files: GLUE folders, tables, plain texts, datasets of `datasets`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from headscope.corpus.sample import OPINIONS, PARAGRAPHS, or_sample
from headscope.corpus.tables import TEXT, TEXT_PAIR, TableRows, file_text, read_rows
from headscope.errors import BadInput
from headscope.tasks.glue import is_glue, read_glue
from headscope.tasks.task import Task, TaskKind, labelled_task, language_task

KINDS: tuple[TaskKind, ...] = get_args(TaskKind)
LABEL = ("label", "labels", "gold_label", "score", "target", "class", "is_duplicate")


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

    `text`, `text_pair` and `label` name columns if the usual names do not fit. Without labels
    (`kind` "masked" or "next", or a .txt file) the task is the text itself.
    """
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
    """The texts of a .tsv or .csv file, in pairs if it has them; labels are ignored."""
    rows = read_rows(source, "dev")
    texts = rows.column(None, TEXT, "text")
    if not rows.has(TEXT_PAIR):
        return list(texts)
    return list(zip(texts, rows.column(None, TEXT_PAIR, "text-pair"), strict=True))


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
            f"{rows.name} has no label column; its columns are {rows.names}. Name it with --label "
            "(label= in Python), or choose --task-kind masked or next (kind=), which need only "
            "text."
        )
    labels = rows.column(label, LABEL, "label")
    for number, one in enumerate(labels, start=1):
        if not one.strip():
            raise BadInput(
                f"{rows.name}: example {number} has no label; give it one or leave it out."
            )
    return labels
