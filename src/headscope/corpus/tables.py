"""Tables: the columns of a file of rows, in any format.

The columns with the text and the second text are chosen by name; without names, the usual ones are
tried.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from headscope.corpus.bad_data import unreadable
from headscope.corpus.open_text import open_lines
from headscope.errors import BadInput
from headscope.json_text import parse_json

TEXT = ("text", "sentence", "sentence1", "premise", "question", "question1", "text_a")
TEXT_PAIR = ("text_pair", "sentence2", "hypothesis", "question2", "text_b")
MOST_CELL = 1 << 24  # characters in a cell


@dataclass(frozen=True)
class TableRows:
    """Named columns of text; columns of a file without a header are called 1, 2, 3, …"""

    name: str
    columns: dict[str, list[str]]
    classes: tuple[str, ...] | None = None  # if the file names its classes

    @property
    def names(self) -> str:
        return ", ".join(self.columns)

    def has(self, usual: Sequence[str]) -> bool:
        return any(name in self.columns for name in usual)

    def column(self, asked: str | None, usual: Sequence[str], what: str) -> list[str]:
        """The requested column, or the first with a usual name."""
        if asked is None:
            asked = next((name for name in usual if name in self.columns), None)
        if asked is None or asked not in self.columns:
            missing = f"no column {asked!r}" if asked else f"no {what} column"
            raise BadInput(
                f"{self.name} has {missing}; its columns are {self.names}: name one with "
                f"--{what} ({what.replace('-', '_')}= in Python)."
            )
        return self.columns[asked]


def read_rows(source: str | Path, split: str) -> TableRows:
    path = Path(source)
    if path.is_dir() and (path / "dataset_info.json").exists():
        return _from_datasets(source, split)
    if path.is_dir():
        found = [file for file in sorted(path.iterdir()) if file.stem == split]
        if not found:
            raise BadInput(f"{path} has no file for the {split} split; name the file itself.")
        path = found[0]
    if not path.exists():
        return _from_datasets(source, split)
    if path.suffix in (".jsonl", ".json"):
        return _json_rows(path)
    if path.suffix == ".parquet":
        return _parquet_rows(path)
    return table_rows(path, "," if path.suffix == ".csv" else "\t")


def file_text(path: Path) -> str:
    """A whole file, including line ends inside quoted cells; text that is not UTF-8 is refused."""
    with open_lines(path, newline="") as lines:
        text = lines.read()
    if unreadable(text):
        place = next(n for n, character in enumerate(text) if unreadable(character))
        raise BadInput(f"{path.name} is not UTF-8 text (character {place + 1}); save it as UTF-8.")
    return text


def table_rows(path: Path, delimiter: str) -> TableRows:
    """Rows of a delimited file; its first line is a header if no cell is a number or long."""
    cells = list(cells_of(path.name, io.StringIO(file_text(path), newline=""), delimiter))
    if not cells:
        raise BadInput(f"{path.name} is empty.")
    width = len(cells[0])
    header = cells[0] if is_header(cells[0]) else [str(i + 1) for i in range(width)]
    body = cells[1:] if header is cells[0] else cells
    for number, row in enumerate(body, start=2 if header is cells[0] else 1):
        if len(row) < width:
            raise BadInput(
                f"{path.name}, line {number}: {len(row)} columns where the first line has {width}."
            )
    return TableRows(path.name, {name: [row[i] for row in body] for i, name in enumerate(header)})


def cells_of(name: str, lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    """The rows of a delimited file, empty ones left out."""
    csv.field_size_limit(MOST_CELL)
    # tab-separated corpora hold bare quotation marks; only CSV quotes its cells
    quoting = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    rows = csv.reader(lines, delimiter=delimiter, quoting=quoting)
    try:
        yield from (row for row in rows if row)
    except csv.Error as error:
        raise BadInput(
            f"{name}, line {rows.line_num} is not a row of a table ({error})."
        ) from error


def is_header(row: Sequence[str]) -> bool:
    return len(set(row)) == len(row) and all(
        cell and len(cell.split()) <= 2 and not cell.replace(".", "").isdigit() for cell in row
    )


def _json_rows(path: Path) -> TableRows:
    columns: dict[str, list[str]] = {}
    for number, line in enumerate(file_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row: Any = parse_json(line)
        except ValueError as error:  # also endless numbers and nesting
            reason = str(error).partition(":")[0]
            raise BadInput(f"{path.name}, line {number} is not JSON ({reason}).") from None
        if not isinstance(row, dict):
            raise BadInput(f"{path.name}, line {number} is not an object with named columns.")
        cells = {str(name): str(cell) for name, cell in cast("dict[Any, Any]", row).items()}
        if columns and not columns.keys() <= cells.keys():
            raise BadInput(f"{path.name}, line {number} lacks columns that the first line has.")
        for name in list(columns) or cells:
            columns.setdefault(name, []).append(cells[name])
    if not columns:
        raise BadInput(f"{path.name} is empty.")
    return TableRows(path.name, columns)


def _parquet_rows(path: Path) -> TableRows:
    import pandas as pd
    import pyarrow

    try:
        frame = pd.read_parquet(path)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise BadInput(f"{path} is not a readable Parquet file ({error}).") from error
    return TableRows(path.name, {str(name): [str(cell) for cell in frame[name]] for name in frame})


def _from_datasets(source: str | Path, split: str) -> TableRows:
    """A dataset by its folder or its name (`glue/mrpc`), when `datasets` is installed."""
    try:
        datasets: Any = import_module("datasets")
    except ImportError:
        raise BadInput(
            f"There is no file {source}; to read it as a dataset of that name install `datasets`."
        ) from None
    try:
        if Path(source).is_dir():
            opened: Any = datasets.load_from_disk(str(source))
        else:
            name, _, configuration = str(source).partition("/")
            opened = datasets.load_dataset(name, configuration or None)
    except Exception as error:
        raise BadInput(
            f"There is no file {source}, and no dataset of that name can be opened "
            f"({type(error).__name__})."
        ) from error
    if hasattr(opened, "keys"):
        wanted = split if split in opened else {"dev": "validation"}.get(split, split)
        if wanted not in opened:
            raise BadInput(f"{source} has no split {split!r}; it has {', '.join(opened)}.")
        opened = opened[wanted]
    return dataset_rows(opened, str(source))


def dataset_rows(dataset: Any, name: str) -> TableRows:
    """The columns of an open dataset; class numbers become its class names."""
    columns: dict[str, list[str]] = {}
    classes: tuple[str, ...] | None = None
    for column in dataset.column_names:
        names: list[str] | None = getattr(dataset.features[column], "names", None)
        values: list[Any] = list(dataset[column])
        if names and column in ("label", "labels"):
            classes = tuple(names)
            columns[column] = [names[int(value)] for value in values]
        else:
            columns[column] = [str(value) for value in values]
    return TableRows(name, columns, classes)
