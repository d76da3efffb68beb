"""Options and messages that the probes' commands share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from headscope.cli.shared.checks import (
    check_data,
    check_figure,
    check_folder,
    check_numbers,
    check_output,
)
from headscope.cli.shared.console import err, say_written
from headscope.cli.shared.options import output
from headscope.files import beside

if TYPE_CHECKING:
    from headscope.corpus.bad_data import Choice
    from headscope.corpus.text.documents import Layout
    from headscope.corpus.treebanks.conllu import Sentence

TABLES = (".csv", ".parquet")
Data = Annotated[str, typer.Argument(help="The data, or sample for the one that is shipped.")]
Output = Annotated[Path, output("The table: .csv or .parquet")]
Mode = Annotated[
    Literal["mean", "first"],
    typer.Option(
        "--mode", help="How a split word is read: as the mean of its pieces or its first piece."
    ),
]
Drawings = Annotated[
    Path | None, typer.Option("--drawings", help="A folder for drawings of the best heads.")
]


def check(
    *data: str | None,
    table: Path,
    map_file: Path | None = None,
    drawings: Path | None = None,
    limit: int | None = None,
    max_tokens: int | None = None,
) -> None:
    """Check all that probes can check before a model is opened."""
    check_output(table, TABLES, "A table")
    check_figure(map_file)
    check_folder(drawings)
    check_numbers(limit=limit, max_tokens=max_tokens)
    check_data(*data)


def sentences(
    data: str, limit: int | None, bad_data: Choice, layout: Layout = "auto"
) -> Iterable[Sentence]:
    """Trees, from a treebank or by parsing plain text, which `layout` divides into documents."""
    from headscope.corpus.treebanks.treebank import Treebank

    if data.endswith(".txt"):
        from itertools import islice

        from headscope.corpus.parsed_text import parsed_text

        err.print("Parsing plain text with spaCy; its labels are ClearNLP's.", highlight=False)
        found = parsed_text(data, layout, bad_data)
        return list(islice(found, limit))
    bank = Treebank(data, bad_data, limit)
    next(iter(bank), None)  # an unreadable file raises before a model is opened
    return bank


def warn_of_same(data: str, test: str | None) -> None:
    """Warn that heads chosen and scored on the same sentences look better than they are."""
    if test is not None and Path(test).resolve() == Path(data).resolve():
        err.print(
            "Heads are chosen and scored on the same data, which flatters them; give other data "
            "as --test, or leave it out to score on every second sentence.",
            highlight=False,
        )


def say_output(table: Path, *others: str) -> None:
    """Print where a run wrote its table and, as .csv, the others beside it."""
    say_written(table)
    if table.suffix.lower() == ".csv":
        for other in others:
            say_written(beside(table, other))


def in_folder(folder: Path, name: str) -> Path:
    """The path of a drawing; the first one creates the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name.replace(':', '_')}.svg"
