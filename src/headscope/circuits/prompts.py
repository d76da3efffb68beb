"""Prompts with named positions, from a list of texts or from a table.

A table's text may be a template: `{S2}` is filled from the row's column `S2`, and its position gets
that name; `{S2=IO}` fills in the column `IO` under the name `S2`. A column of whole numbers names a
token of each row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from headscope.arguments import need_list
from headscope.errors import BadInput
from headscope.text.tokenise import Text

if TYPE_CHECKING:
    from headscope.text.tokens import Tokens

Row = Mapping[str, Any]
Where = int | tuple[int, int]  # a token's number, or the characters that it ends
MARKER = re.compile(r"\{(\w+)(?:=(\w+))?\}")
END = "end"  # the answer's position, which every prompt has


@dataclass(frozen=True)
class Prompt:
    """A text with its named positions."""

    text: Text
    marks: tuple[tuple[str, Where], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.marks)

    def position(self, name: str, tokens: Tokens) -> int:
        """The token of that name: the last one of what a marker was filled with."""
        where = dict(self.marks).get(name)
        if where is None:
            known = ", ".join([*self.names, END])
            raise BadInput(f"No position is called {name!r} in {self.text!r}; there are {known}.")
        if isinstance(where, int):
            if not -len(tokens) <= where < len(tokens):
                raise BadInput(
                    f"{name!r} is token {where} and {self.text!r} has tokens 0 to "
                    f"{len(tokens) - 1}; give a token of the text."
                )
            return where % len(tokens)
        start, end = where
        inside = (tokens.spans[:, 0] < end) & (tokens.spans[:, 1] > start)
        found = np.flatnonzero(inside & (tokens.spans[:, 0] >= 0))
        if not len(found):
            raise BadInput(
                f"{name!r} in {self.text!r} is not a token by itself; choose a whole word."
            )
        return int(found[-1])


def is_table(given: object) -> bool:
    """Whether the value is a table: a data frame, columns by name, or rows with names."""
    if isinstance(given, Mapping) or (hasattr(given, "columns") and hasattr(given, "to_dict")):
        return True
    rows = isinstance(given, Sequence) and not isinstance(given, str) and len(given) > 0
    return rows and all(isinstance(one, Mapping) for one in cast("Sequence[object]", given))


def rows_of(table: Any) -> list[Row]:
    """A table's rows."""
    if isinstance(table, Mapping):
        for name, column in table.items():  # pyright: ignore
            need_list(column, str(name), "['a prompt', 'another']")  # pyright: ignore
        columns = {str(name): list(column) for name, column in table.items()}  # pyright: ignore
        lengths = {len(column) for column in columns.values()}
        if len(lengths) != 1:
            raise BadInput(
                f"The table's columns have {sorted(lengths)} rows; give every column the "
                "same number."
            )
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    rows = table.to_dict("records") if hasattr(table, "to_dict") else list(table)
    if not rows:
        raise BadInput("The table has no rows; give at least one prompt.")
    return rows


def filled(row: Row, column: str) -> Prompt:
    """A row's text with its markers filled in, and every position that the row names."""
    template = row.get(column)
    if not isinstance(template, str) or not template.strip():
        raise BadInput(f"The column {column!r} holds {template!r}; give a text in every row.")
    marks: list[tuple[str, Where]] = []
    marks += [(name, int(at)) for name, at in row.items() if _is_position(at)]
    text = ""
    since = 0
    for marker in MARKER.finditer(template):
        name, source = marker[1], marker[2] or marker[1]
        if source not in row:
            if marker[2]:
                raise BadInput(f"{marker[0]} needs a column {source!r}, which the table lacks.")
            continue  # braces of the text's own
        text += template[since : marker.start()]
        since = marker.end()
        marks.append((name, (len(text), len(text) + len(str(row[source])))))
        text += str(row[source])
    return Prompt(text + template[since:], tuple(marks))


def _is_position(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
