"""GLUE's own files, read as they are published.

The tasks were released in different formats, with and without headers, and some again in later
packagings; each entry below names possible files and columns. MRPC's first release has no
development set, so its test set is used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from headscope.corpus.tables import TableRows, table_rows
from headscope.errors import BadInput
from headscope.tasks.task import Task, TaskKind, labelled_task


@dataclass(frozen=True)
class Format:
    """One task: its columns by header, or by number (from 1) where there is no header."""

    text: tuple[str, ...]
    pair: tuple[str, ...] = ()
    label: tuple[str, ...] = ("label",)
    classes: tuple[str, ...] = ()  # names of classes 0, 1, …
    metric: str = "accuracy"
    train: tuple[tuple[str, ...], ...] = (("train.tsv",),)  # alternatives, each a list of files
    dev: tuple[tuple[str, ...], ...] = (("dev.tsv",),)
    test: tuple[tuple[str, ...], ...] = (("test.tsv",),)
    kind: TaskKind = field(default="classification")


FORMATS = {
    "CoLA": Format(
        text=("sentence", "4"),
        label=("label", "2"),
        classes=("unacceptable", "acceptable"),
        metric="matthews",
        train=(("train.tsv",), ("in_domain_train.tsv",)),
        dev=(("dev.tsv",), ("in_domain_dev.tsv", "out_of_domain_dev.tsv")),
    ),
    "SST-2": Format(text=("sentence", "1"), label=("label", "2"), classes=("negative", "positive")),
    "MRPC": Format(
        text=("#1 String",),
        pair=("#2 String",),
        label=("Quality",),
        classes=("not_equivalent", "equivalent"),
        metric="f1",
        train=(("train.tsv",), ("msr_paraphrase_train.txt",)),
        dev=(("dev.tsv",), ("msr_paraphrase_test.txt",)),
        test=(("msr_paraphrase_test.txt",),),
    ),
    "STS-B": Format(
        text=("sentence1", "6"),
        pair=("sentence2", "7"),
        label=("score", "5"),
        metric="pearson",
        train=(("train.tsv",), ("sts-train.csv",)),
        dev=(("dev.tsv",), ("sts-dev.csv",)),
        test=(("sts-test.csv",),),
        kind="regression",
    ),
    "RTE": Format(
        text=("sentence1",), pair=("sentence2",), classes=("entailment", "not_entailment")
    ),
    "QNLI": Format(
        text=("question",), pair=("sentence",), classes=("entailment", "not_entailment")
    ),
    "QQP": Format(
        text=("question1",),
        pair=("question2",),
        label=("is_duplicate",),
        classes=("not_duplicate", "duplicate"),
    ),
    "MNLI": Format(
        text=("sentence1",),
        pair=("sentence2",),
        label=("gold_label",),
        classes=("entailment", "neutral", "contradiction"),
        dev=(("dev_matched.tsv",), ("dev.tsv",)),
    ),
}


def is_glue(folder: Path) -> bool:
    """Whether a folder is one of GLUE's, by its name."""
    return folder.name in FORMATS


def read_glue(folder: str | Path, split: str = "dev") -> Task:
    """The task in `folder` (…/RTE, …/SST-2, …), its `split` being train, dev or test."""
    folder = Path(folder)
    form = FORMATS.get(folder.name)
    if form is None:
        raise BadInput(f"{folder.name} is not a GLUE task; choose one of {', '.join(FORMATS)}.")
    choices: dict[str, tuple[tuple[str, ...], ...]] = {
        "train": form.train,
        "dev": form.dev,
        "test": form.test,
    }
    if split not in choices:
        raise BadInput(f"A split is train, dev or test, not {split!r}.")
    files = next(
        (names for names in choices[split] if all((folder / name).is_file() for name in names)),
        None,
    )
    if files is None:
        wanted = " or ".join(" and ".join(names) for names in choices[split])
        raise BadInput(f"{folder} lacks the {split} set: put {wanted} there.")
    texts: list[str] = []
    pairs: list[str] = []
    labels: list[str] = []
    for name in files:
        rows = table_rows(folder / name, "\t")
        texts += rows.column(None, form.text, "text")
        if form.pair:
            pairs += rows.column(None, form.pair, "pair")
        labels += _class_names(rows, form)
    return labelled_task(
        folder.name,
        texts,
        pairs if form.pair else None,
        labels,
        kind=form.kind,
        classes=form.classes,
        metric=form.metric,
    )


def _class_names(rows: TableRows, form: Format) -> list[str]:
    """Labels as names, from names or numbers."""
    raw = rows.column(None, form.label, "label")
    return [
        form.classes[int(label)] if label.isdigit() and int(label) < len(form.classes) else label
        for label in raw
    ]
