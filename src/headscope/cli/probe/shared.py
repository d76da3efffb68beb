"""What the probes' commands have in common: their options, and how they speak."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli.checks import check_data, check_figure, check_folder, check_numbers, check_output
from headscope.cli.console import err, progress, say_written
from headscope.cli.options import output

if TYPE_CHECKING:
    import pandas as pd

    from headscope.corpus.bad_data import Choice
    from headscope.corpus.treebanks.conllu import Sentence

TABLES = (".csv", ".parquet")
Data = Annotated[str, typer.Argument(help="The data, or sample for the one that is shipped.")]
Output = Annotated[Path, output("The table: .csv or .parquet")]
Mode = Annotated[
    str, typer.Option("--mode", help="What speaks for a split word: its mean or its first piece.")
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
    seed: int = 0,
) -> None:
    """Everything that all probes can know before a model is opened."""
    check_output(table, TABLES, "A table")
    check_figure(map_file)
    check_folder(drawings)
    check_numbers(seed=seed, limit=limit, max_tokens=max_tokens)
    check_data(*data)


def sentences(data: str, limit: int | None, bad: Choice) -> Iterable[Sentence]:
    """Trees, from a treebank or by parsing plain text."""
    from headscope.corpus.treebanks.conllu import Treebank

    if data.endswith(".txt"):
        from itertools import islice

        from headscope.corpus.treebanks.spacy_parse import parse_file

        err.print("Parsing plain text with spaCy; its labels are ClearNLP's.", highlight=False)
        return list(islice(parse_file(data), limit))
    return Treebank(data, bad, limit)


def warn_of_same(data: str, test: str | None) -> None:
    """Heads chosen and scored on the same sentences look better than they are."""
    if test is not None and Path(test).resolve() == Path(data).resolve():
        err.print(
            "Heads are chosen and scored on the same data, which flatters them; give other data "
            "as --test, or leave it out to score on every second sentence.",
            highlight=False,
        )


@contextmanager
def counting(title: str, sources: list[Any]) -> Generator[Callable[[int], None]]:
    """A bar over all items of the sources; without sources the total stays open."""
    total = sum(sum(1 for _ in source) for source in sources if source is not None)
    with progress() as bar:
        task = bar.add_task(title, total=total or None)
        yield lambda count: bar.advance(task, count)


def stamp(data: str | None) -> object:
    """What tells data from other data under the same name, for a run that goes on."""
    path = Path(data or "")
    if data is None or not path.exists():
        return data
    return [str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns]


def part(table: Path, number: int) -> Path:
    """Where the state of a pass is kept."""
    return table.with_name(f".{table.name}.pass-{number}.npz")


def beside(table: Path, what: str) -> Path:
    """The place of a second table: heads.csv and heads-what.csv."""
    return table.with_name(f"{table.stem}-{what}{table.suffix}")


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write a table by its ending and say where."""
    from headscope.files import write_table

    write_table(frame, path)
    say_written(path)


def in_folder(folder: Path, name: str) -> Path:
    """The place of a drawing; the folder is made when the first one is there."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name.replace(':', '_')}.svg"
