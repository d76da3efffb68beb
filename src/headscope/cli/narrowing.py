"""How much of a reading is kept and shown: what `headscope view` is given for long texts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from headscope.errors import BadInput

if TYPE_CHECKING:
    from headscope.reading import Reading

Layers = Annotated[
    str | None, typer.Option("--layers", help="Only these layers, such as 0,4-7; all if left out.")
]
Queries = Annotated[
    str | None,
    typer.Option("--queries", help="Only these queries, such as 100:200, the last not included."),
]
Budget = Annotated[
    str | None, typer.Option("--budget", help="The most bytes of a page, such as 5MB. [25MB]")
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory", help="The most memory for a reading, such as 2GB. [half of what is free]"
    ),
]


@dataclass(frozen=True)
class Narrowing:
    """What was asked for, checked before a model is opened."""

    layers: tuple[int, ...] | None
    queries: tuple[int, int] | None

    @staticmethod
    def of(
        layers: str | None, queries: str | None, budget: str | None, memory: str | None
    ) -> Narrowing:
        from headscope.reading.memory import bytes_of

        for size in (budget, memory):
            if size is not None:
                bytes_of(size)
        return Narrowing(
            None if layers is None else _layers(layers),
            None if queries is None else _queries(queries),
        )

    def __call__(self, reading: Reading) -> Reading:
        if self.layers is None and self.queries is None:
            return reading
        return reading.narrowed(self.layers, self.queries)


def _layers(text: str) -> tuple[int, ...]:
    found: list[int] = []
    for part in text.split(","):
        ends = re.fullmatch(r"\s*(\d{1,4})(?:-(\d{1,4}))?\s*", part)
        if ends is None:
            raise BadInput(f"--layers are numbers such as 0,4-7, not {text!r}.")
        found.extend(range(int(ends[1]), int(ends[2] or ends[1]) + 1))
    if not found:
        raise BadInput(f"--layers are numbers such as 0,4-7, not {text!r}.")
    return tuple(dict.fromkeys(found))


def _queries(text: str) -> tuple[int, int]:
    ends = re.fullmatch(r"\s*(\d+):(\d+)\s*", text)
    if ends is None:
        raise BadInput(f"--queries is a range such as 100:200, not {text!r}.")
    return int(ends[1]), int(ends[2])
