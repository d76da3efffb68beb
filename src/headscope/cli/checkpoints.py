"""`headscope checkpoints`: heads over the steps of a training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from headscope.cli.shared import options
from headscope.cli.shared.checks import check_data, check_figure, check_numbers, check_output
from headscope.cli.shared.console import command_line, draw, out, say_written, show_table

if TYPE_CHECKING:
    from headscope.checkpoints.result import OverCheckpoints

SHOWN = 8
FRAMES = 24  # most frames of the page's scatter


def register(app: typer.Typer) -> None:
    app.command("checkpoints")(checkpoints)


def checkpoints(
    models: Annotated[
        list[str], typer.Argument(help="Checkpoints, or one folder that holds step folders.")
    ],
    output: Annotated[Path, options.output("The result: .parquet or .csv")],
    corpus: Annotated[
        str, typer.Option("--corpus", help="Texts that every checkpoint reads.")
    ] = "sample",
    measure: Annotated[
        str, typer.Option("--measure", help="Measure whose changes are printed and drawn.")
    ] = "induction",
    limit: options.Limit = None,
    max_tokens: options.MaxTokens = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="A line per head as .svg, .png or .pdf.")
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option("--page", help="A page with lines, a scatter over time and examples, .html."),
    ] = None,
    beside: Annotated[
        str, typer.Option("--beside", help="The other axis of the page's scatter.")
    ] = "entropy",
    device: options.Device = None,
    dtype: options.Dtype = None,
    seed: options.Seed = 0,
    restart: options.Restart = False,
) -> None:
    """Measure the same heads at every step of a training.

    Prints at which step each head's measure changed, with an interval, and from when labels stay.
    A stopped run resumes with the same command.

    Examples:

      headscope checkpoints decoder-0 --corpus decoder-0/corpus.jsonl -o decoder-0.parquet

      headscope checkpoints name@step100 name@step200 -o steps.parquet --page steps.html
    """
    check_numbers(limit=limit, max_tokens=max_tokens)
    check_data(corpus)
    check_output(output, (".parquet", ".csv"), "A series")
    check_figure(figure)
    if page is not None:
        check_output(page, (".html",), "That file")
    from headscope.checkpoints.run import over_checkpoints

    found = over_checkpoints(
        models[0] if len(models) == 1 else models, corpus, max_tokens=max_tokens, limit=limit,
        output=output, restart=restart, seed=seed, device=device, dtype=dtype,
    )  # fmt: skip
    say_written(output)  # a measure that these models lack ends the command below
    changes = found.changes(measure, seed=seed)
    out.print(f"{measure}: heads that changed most", highlight=False)
    show_table(changes.head(SHOWN))
    appeared = found.appears()
    if len(appeared):
        out.print("labels of the last checkpoint, from the step on which they stay")
        show_table(appeared.head(SHOWN))
    if figure is not None:
        draw(found.plot(measure), figure)
    if page is not None:
        _write_page(found, page, measure, beside, corpus, device, dtype)
        say_written(page)


def _write_page(
    found: OverCheckpoints,
    path: Path,
    measure: str,
    beside: str,
    corpus: str,
    device: str | None,
    dtype: str | None,
) -> None:
    from headscope.figures.curves import Panel, curves
    from headscope.studies.report import Report

    steps = found.step_numbers
    report = Report(found.title, "checkpoints", str(Path(found.models[-1]).parent), command_line())
    report.method = (
        "Every checkpoint reads the same texts. A change point splits a head's line into two "
        "levels with the least squares; its 95 % interval comes from resampled residuals."
    )
    changes = found.changes(measure)
    lines = report.section("When does it happen?")
    lines.figure("lines", found.plot(measure), "The heads that change most; upright: the change.")
    lines.table("changes", changes.head(SHOWN), f"Change points of `{measure}`.")
    lines.table("labels", found.appears(), "Labels at the end, from the step on which they stay.")
    every = report.section("All heads over the steps")
    at = np.unique(np.linspace(0, len(steps) - 1, min(FRAMES, len(steps))).round().astype(int))
    shown = {f"step {steps[one]}": found.scatter(steps[one], measure, beside) for one in at}
    every.frames("scatter", shown, "Every head at one step; labelled heads are named. Drag.")
    alike = found.similarity().groupby("step")["value"]
    told = {
        name: (np.array(steps[1:], float), getattr(alike, name)().to_numpy())
        for name in ("mean", "min")
    }
    every.figure(
        "similarity", curves([Panel("similarity", told)], "step", title="Heads and themselves"),
        "Correlation of each head's measures with those one checkpoint before.",
    )  # fmt: skip
    if len(changes):
        layer, head = int(changes["layer"].iloc[0]), int(changes["head"].iloc[0])
        then = found.examples(corpus, layer, head, device=device, dtype=dtype)
        examples = report.section(f"Head {layer}-{head} then and now")
        examples.table(
            "examples",
            then.filter(["rank", "query_token", "step", "key_token", "weight", "text"]),
            "Where it changed most: the query stands in [[ ]], its strongest key in << >>.",
        )  # fmt: skip
    report.save(path)
