"""`headscope patch`: patching over pairs of prompts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from headscope.cli.shared import options
from headscope.cli.shared.checks import check_figure, check_output
from headscope.cli.shared.console import draw, open_scope, out, say_written, tested

if TYPE_CHECKING:
    from headscope.circuits.patching.result import Patching

READY = ("names", "years", "agreement")


def register(app: typer.Typer) -> None:
    app.command("patch")(patch)


def patch(
    pairs: Annotated[
        str, typer.Argument(help=f"A .jsonl file of pairs, or a ready task: {', '.join(READY)}.")
    ],
    output: Annotated[Path, options.output(".parquet or .csv")],
    model: options.Model = None,
    what: Annotated[
        Literal["heads", "weights", "values", "mlps", "layers"],
        typer.Option(help="What is copied from one run into the other."),
    ] = "heads",
    method: Annotated[
        Literal["exact", "estimate", "both"],
        typer.Option(help="One run per change, or an estimate by gradients."),
    ] = "exact",
    metric: options.AnswerMetric = None,
    positions: Annotated[
        str | None,
        typer.Option(help="all: one token at a time; or the pairs' named positions: S2,end."),
    ] = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    map_file: options.MapFile = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
    restart: options.Restart = False,
) -> None:
    """Put parts of a run on a clean prompt into a run on a corrupted one, and measure the answer.

    A pair is a line {"clean": …, "corrupted": …, "answer": …, "wrong": …}; ready tasks generate 50.
    A stopped run resumes with the same command.

    Examples:

      headscope patch names -m gpt2 -o names.csv --map names.svg --limit 20

      headscope patch pairs.jsonl -m my-model --method estimate -o estimate.parquet

      headscope patch pairs.jsonl -m gpt2 --metric probability --positions S2,end -o at.csv
    """
    check_output(output, (".parquet", ".csv"), "A patching")
    check_figure(map_file)
    from headscope.circuits.patching.pairs import read_pairs
    from headscope.circuits.patching.patch import patch as run
    from headscope.circuits.patching.ready import task

    given = task(pairs, limit or 50, seed) if pairs in READY else read_pairs(pairs)
    scope = open_scope(model, device, dtype, trust_remote_code)
    fitting = given.fitting(scope) if pairs in READY else given
    asked: Any = {"what": what, "method": method}
    at = positions == "all" or ([one.strip() for one in (positions or "").split(",") if one])
    found = run(
        scope, fitting, metric=metric, positions=at or False, limit=limit, seed=seed, output=output,
        restart=restart, **asked,
    )  # fmt: skip
    if map_file is not None:
        draw(found.plot(), map_file)
    _summary(found)
    if method == "both":
        out.print(f"estimate and exact agree in rank: {found.agreement:.2f}", highlight=False)
    say_written(output)


def _summary(found: Patching) -> None:
    out.print(
        f"{found.task}: {found.clean.mean():+.2f} on {len(found.clean)} clean prompts, "
        f"{found.corrupted.mean():+.2f} on corrupted ones",
        highlight=False,
    )
    shown: Any = found.table.sort_values("value", ascending=False).head(8).itertuples()
    for row in shown:
        head = "" if row.head is None or str(row.head) == "<NA>" else f"-{row.head}"
        out.print(
            f"{row.layer}{head:<5} brings back {row.value:+.3f} "
            + tested(f"{row.low:+.3f}", f"{row.high:+.3f}", row.p_holm),
            highlight=False,
        )
