"""`headscope compare`: two models of one shape, head by head."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import options
from headscope.cli.checks import check_data, check_figure, check_numbers, check_output
from headscope.cli.console import draw, open_scope, out, say_written


def register(app: typer.Typer) -> None:
    app.command("compare")(compare)


def compare(
    model_a: Annotated[str, typer.Argument(help="The model before: a hub name or a folder.")],
    model_b: Annotated[str, typer.Argument(help="The model after.")],
    corpus: Annotated[str, options.corpus(" A GLUE folder is read as its sentences.")],
    output: Annotated[Path, options.output("The table: .csv or .parquet")],
    padded: Annotated[
        bool, typer.Option("--padded", help="Compare whole padded maps, as the paper's code does.")
    ] = False,
    statistics: Annotated[
        bool, typer.Option(help="Also how far every statistic and label moved.")
    ] = True,
    limit: options.Limit = 1000,
    max_tokens: options.MaxTokens = 128,
    map_file: options.MapFile = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
    restart: options.Restart = False,
) -> None:
    """Compare two models of one shape head by head: what did fine-tuning change?

    Writes one row per head; with statistics, a second table beside it (…-statistics.csv). Run
    the same command again after a stop and it goes on where it was.

    Examples:

      headscope compare bert-base-uncased my-model reviews.txt -o change.csv --map change.svg
    """
    check_output(output, (".csv", ".parquet"), "A comparison")
    check_figure(map_file)
    check_numbers(limit=limit, max_tokens=max_tokens)
    check_data(corpus)
    a, b = (open_scope(name, device, dtype, trust_remote_code) for name in (model_a, model_b))
    from headscope.finetuning.compare import compare as run

    found = run(
        a, b, corpus, padded=padded, limit=limit, max_tokens=max_tokens or 128,
        labels=statistics, statistics=None if statistics else [], output=output, restart=restart,
    )  # fmt: skip
    if map_file is not None:
        draw(found.plot(), map_file)
    layers = found.by_layer()
    for row in layers.itertuples(index=False):
        out.print(
            f"layer {row[0]:<3} mean cosine {row[1]:.3f}  divergence {row[2]:.4f}", highlight=False
        )
    for path in found.files(output) if output.suffix == ".csv" else [output]:
        say_written(path)
