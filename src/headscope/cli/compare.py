"""`headscope compare`: two models of one shape, head by head; or two atlases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.cli.shared import options
from headscope.cli.shared.checks import check_data, check_figure, check_numbers, check_output
from headscope.cli.shared.console import draw, err, open_scope, out, say_written
from headscope.errors import BadInput

SHOWN = 5  # changes between two atlases that are printed


def register(app: typer.Typer) -> None:
    app.command("compare")(compare)


def compare(
    model_a: Annotated[
        str, typer.Argument(help="The model before: a hub name or a folder; or its atlas.")
    ],
    model_b: Annotated[str, typer.Argument(help="The model after, or its atlas.")],
    output: Annotated[Path, options.output("The table: .csv or .parquet")],
    corpus: Annotated[
        str | None,
        options.corpus(" Of a GLUE folder, the dev split is read. Two atlases need none."),
    ] = None,
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

    Writes one row per head; with statistics, a second table beside it (…-statistics.csv). A stopped
    run resumes with the same command.

    Examples:

      headscope compare bert-base-uncased my-model reviews.txt -o change.csv --map change.svg

      headscope compare before.atlas after.atlas -o change.csv
    """
    check_output(output, (".csv", ".parquet"), "A comparison")
    check_figure(map_file)
    check_numbers(limit=limit, max_tokens=max_tokens)
    if corpus is None:
        if not any(_atlas(name) for name in (model_a, model_b)):
            raise BadInput("Two models are compared on a corpus; give one as the third argument.")
        _two_atlases(model_a, model_b, output, map_file)
        return
    check_data(corpus)
    a, b = (open_scope(name, device, dtype, trust_remote_code) for name in (model_a, model_b))
    from headscope.finetuning.compare import compare as run

    found = run(
        a, b, corpus, padded=padded, limit=limit, max_tokens=max_tokens or 128,
        labels=statistics, statistics=None if statistics else [], output=output, restart=restart,
    )  # fmt: skip
    if map_file is not None:
        draw(found.plot(), map_file)
    out.print(found.title, markup=False, highlight=False, soft_wrap=True)
    layers = found.by_layer()
    for row in layers.itertuples(index=False):
        out.print(
            f"layer {row[0]:<3} mean cosine {row[1]:.3f}  divergence {row[2]:.4f}", highlight=False
        )
    for path in found.files(output) if output.suffix == ".csv" else [output]:
        say_written(path)


def _atlas(name: str) -> bool:
    """Whether the path is an atlas, or ends like one."""
    from headscope.atlas.file import is_atlas

    return name.endswith((".atlas", ".zip")) or is_atlas(name)


def _two_atlases(first: str, second: str, output: Path, map_file: Path | None) -> None:
    """Heads matched by likeness, and the changes that stand out most from their errors."""
    from headscope.atlas.atlas import Atlas
    from headscope.atlas.compare import compare_atlases

    if map_file is not None:
        raise BadInput("--map compares two models; leave it out to compare two atlases.")
    found = compare_atlases(Atlas.load(first), Atlas.load(second))
    moved = found.matches["same_head"].tolist().count(False)
    out.print(
        f"{len(found.matches)} heads matched by likeness, {moved} of them with another "
        "layer or head number.",
        highlight=False,
    )
    try:
        changed: Any = found.changed(SHOWN).itertuples()
    except BadInput as why:  # the table is still written
        err.print(str(why), highlight=False)
        changed = ()
    for row in changed:
        out.print(
            f"  {row.layer}-{row.head} → {row.other_layer}-{row.other_head}   {row.measure} "
            f"{row.value:+.3f} ± {row.error:.3f}",
            highlight=False,
        )
    found.save(output)
    say_written(output)
