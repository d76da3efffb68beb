"""Options, checks and printing that the commands of `hs.find_heads` share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headscope.cli.probe import shared
from headscope.cli.shared.checks import check_numbers, check_output
from headscope.cli.shared.console import draw, err, say_faults, say_written, show_table

if TYPE_CHECKING:
    from headscope.roles.result import FoundHeads

Pairs = Annotated[str, typer.Argument(help="The labelled data.")]
MostHeads = Annotated[int, typer.Option("--most-heads", help="The most heads chosen together.")]
SHOWN = ["layer", "head", "measure", "value", "low", "high", "null", "p_holm", "baseline"]


def check(
    data: str,
    output: Path,
    map_file: Path | None,
    drawings: Path | None,
    heads_file: Path | None,
    limit: int | None,
    max_tokens: int | None,
    most_heads: int,
) -> None:
    """Check all that can be checked before a model is opened."""
    shared.check(data, table=output, map_file=map_file, drawings=drawings, limit=limit,
                 max_tokens=max_tokens)  # fmt: skip
    check_numbers(most_heads=most_heads)
    if heads_file is not None:
        check_output(heads_file, (".json",), "A list of heads")


def show(
    found: FoundHeads,
    output: Path,
    map_file: Path | None,
    drawings: Path | None,
    heads_file: Path | None,
) -> None:
    """Print the best heads, alone and together, and write the requested files."""
    shared.say_output(output, "together")
    if map_file:
        draw(found.plot(), map_file)
    if heads_file is not None:
        found.to_json(heads_file)
        say_written(heads_file)
    if drawings:
        for number in range(len(found.maps)):
            draw(found.draw(number), shared.in_folder(drawings, f"{found.role}-{number + 1}"))
    best = found.top(n=8)
    show_table(best, [one for one in SHOWN if bool(best[one].notna().any())])
    if len(found.together):
        show_table(found.together, [str(one) for one in found.together.dropna(axis=1, how="all")])
    beyond = len(found.found[["layer", "head"]].drop_duplicates())
    heads = len(found.table[["layer", "head"]].drop_duplicates())
    err.print(
        f"{found.cases} links in {found.documents} documents; the best fixed offset "
        f"({found.offset:+d}) is right in {found.baseline:.1%}. "
        f"{beyond} of {heads} heads beat shuffled labels.",
        highlight=False,
    )
    say_faults(found.faults)
