"""`headscope compare`: two models of one shape, head by head."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli.console import (
    check_csv,
    check_figure,
    open_scope,
    out,
    say_written,
    stoppable,
    told,
)


def register(app: typer.Typer) -> None:
    app.command("compare")(compare)


def compare(
    model_a: Annotated[str, typer.Argument(help="The model before: a hub name or a folder.")],
    model_b: Annotated[str, typer.Argument(help="The model after.")],
    corpus: Annotated[
        str, typer.Argument(help="Text both read: a file or folder, or a GLUE folder.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The table, a .csv file.")],
    padded: Annotated[
        bool, typer.Option("--padded", help="Compare whole padded maps, as the paper's code does.")
    ] = False,
    statistics: Annotated[
        bool, typer.Option(help="Also how far every statistic and label moved.")
    ] = True,
    limit: Annotated[int, typer.Option(help="At most so many texts.")] = 1000,
    max_length: Annotated[int, typer.Option(help="Tokens a text is cut to.")] = 128,
    map_file: Annotated[
        Path | None, typer.Option("--map", help="The map of similarity as .svg, .png or .pdf.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, mps.")] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Start anew, not where a run stopped.")
    ] = False,
) -> None:
    """Compare two models of one shape head by head: what did fine-tuning change?

    Writes one row per head; with statistics, a second table beside it (…-statistics.csv). Run
    the same command again after a stop and it goes on where it was.

    Examples:

      headscope compare bert-base-uncased my-model reviews.txt -o change.csv --map change.svg
    """
    from headscope.finetuning.compare import compare as run

    check_csv(output, "A comparison")
    check_figure(map_file)
    a, b = open_scope(model_a, device), open_scope(model_b, device)
    with stoppable(), told(f"Comparing {a.name} and {b.name}") as tell:
        found = run(
            a, b, corpus, padded=padded, limit=limit, max_length=max_length, labels=statistics,
            statistics=None if statistics else [], output=output, restart=restart, progress=tell,
        )  # fmt: skip
    if map_file is not None:
        from headscope.figures import save

        save(found.plot(), map_file)
        say_written(map_file)
    layers = found.by_layer()
    for row in layers.itertuples(index=False):
        out.print(
            f"layer {row[0]:<3} mean cosine {row[1]:.3f}  divergence {row[2]:.4f}", highlight=False
        )
    for path in found.files(output):
        say_written(path)
