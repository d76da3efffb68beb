"""`headscope circuits`: heads by their weights, and heads with names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.cli import options
from headscope.cli.checks import check_choice, check_figure, check_numbers, check_output
from headscope.cli.console import open_scope, out, say_written

SCORES = ("copying", "composition", "copy_suppression", "successor", "name_mover", "retrieval")


def register(app: typer.Typer) -> None:
    app.command("circuits")(circuits)


def circuits(
    score: Annotated[str, typer.Argument(help=" | ".join(SCORES))],
    output: Annotated[Path, options.output(".parquet or .csv")],
    model: options.Model = None,
    seed: options.Seed = 0,
    map_file: options.MapFile = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
) -> None:
    """Score every head: copying and composition by weights alone, or a named behaviour.

    Examples:

      headscope circuits copying -m gpt2 -o copying.csv --map copying.svg

      headscope circuits retrieval -m my-model -o retrieval.parquet
    """
    check_choice("score", score, *SCORES)
    check_numbers(seed=seed)
    check_output(output, (".parquet", ".csv"), "A score of heads")
    check_figure(map_file)
    from headscope import circuits as made

    scope = open_scope(model, device, dtype, trust_remote_code)
    found: Any
    if score in ("copying", "composition"):
        found = getattr(made, score)(scope)
    else:
        found = made.named(scope, [score], seed=seed)
    found.save(output)
    if map_file is not None:
        from headscope.figures import save

        save(found.plot(), map_file)
        say_written(map_file)
    for row in found.top(n=8).itertuples():
        out.print(f"{row.measure} {row.layer}-{row.head}  {row.value:.3f}", highlight=False)
    say_written(output)
