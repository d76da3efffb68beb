"""`headscope compare`: two models of one shape, head by head."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli.console import open_scope, out, progress, say_written


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
) -> None:
    """Compare two models of one shape head by head: what did fine-tuning change?

    Writes one row per head; with statistics, a second table beside it (…-statistics.csv).

    Examples:

      headscope compare bert-base-uncased my-model reviews.txt -o change.csv --map change.svg
    """
    from headscope.corpus.glue import is_glue, read_glue
    from headscope.edits.compare import compare as run
    from headscope.files import atomic_path

    texts: object = read_glue(corpus) if is_glue(Path(corpus)) else corpus
    a, b = open_scope(model_a, device), open_scope(model_b, device)
    with progress() as bar:
        found = run(
            a, b, texts, padded=padded, limit=limit, max_length=max_length, labels=statistics,
            statistics=None if statistics else [],
            track=lambda items, title: bar.track(items, description=title),
        )  # fmt: skip
    with atomic_path(output) as temporary:
        found.table.to_csv(temporary, index=False)
    if statistics:
        beside = output.with_name(f"{output.stem}-statistics{output.suffix}")
        with atomic_path(beside) as temporary:
            found.statistics.to_csv(temporary, index=False)
        say_written(beside)
    if map_file is not None:
        from headscope.figures import save

        save(found.plot(), map_file)
        say_written(map_file)
    layers = found.by_layer()
    for row in layers.itertuples(index=False):
        out.print(
            f"layer {row[0]:<3} mean cosine {row[1]:.3f}  divergence {row[2]:.4f}", highlight=False
        )
    say_written(output)
