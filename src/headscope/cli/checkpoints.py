"""`headscope checkpoints`: heads over the steps of a training."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli.shared import options
from headscope.cli.shared.checks import check_data, check_figure, check_numbers, check_output
from headscope.cli.shared.console import draw, out, say_written, show_table

SHOWN = 8


def register(app: typer.Typer) -> None:
    app.command("checkpoints")(checkpoints)


def checkpoints(
    models: Annotated[
        list[str], typer.Argument(help="Checkpoints, or one folder that holds step folders.")
    ],
    output: Annotated[Path, options.output("The result: .parquet or .csv")],
    corpus: Annotated[str, typer.Option("--corpus", help="Texts that every one reads.")] = "sample",
    measure: Annotated[
        str, typer.Option("--measure", help="What changes are printed and drawn of.")
    ] = "induction",
    limit: options.Limit = None,
    max_tokens: options.MaxTokens = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="A line per head as .svg, .png or .pdf.")
    ] = None,
    seed: options.Seed = 0,
    restart: options.Restart = False,
) -> None:
    """Measure the same heads at every step of a training.

    Prints when each head's measure changed, with an interval, and when labels appeared to stay. A
    stopped run resumes with the same command.

    Examples:

      headscope checkpoints decoder-0 --corpus decoder-0/corpus.jsonl -o decoder-0.parquet

      headscope checkpoints step-100 step-200 step-300 -o steps.parquet --figure steps.svg
    """
    check_numbers(seed=seed, limit=limit, max_tokens=max_tokens)
    check_data(corpus)
    check_output(output, (".parquet", ".csv"), "A series")
    check_figure(figure)
    from headscope.checkpoints.run import over_checkpoints

    found = over_checkpoints(
        models[0] if len(models) == 1 else models, corpus, max_tokens=max_tokens, limit=limit,
        output=output, restart=restart, seed=seed,
    )  # fmt: skip
    out.print(f"{measure}: heads that changed most", highlight=False)
    show_table(found.changes(measure, seed=seed).head(SHOWN))
    appeared = found.appears()
    if len(appeared):
        out.print("labels of the last checkpoint, from the step on which they stay")
        show_table(appeared.head(SHOWN))
    if figure is not None:
        draw(found.plot(measure), figure)
    say_written(output)
