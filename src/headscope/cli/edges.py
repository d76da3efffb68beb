"""`headscope edges`: the circuit behind an answer, with its faithfulness."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.cli.patch import READY
from headscope.cli.shared import options
from headscope.cli.shared.checks import check_figure, check_output
from headscope.cli.shared.console import draw, open_scope, out, say_written


def register(app: typer.Typer) -> None:
    app.command("edges")(edges)


def edges(
    pairs: Annotated[
        str, typer.Argument(help=f"A .jsonl file of pairs, or a ready task: {', '.join(READY)}.")
    ],
    output: Annotated[Path, options.output(".parquet, or .json: the circuit alone")],
    model: options.Model = None,
    metric: options.AnswerMetric = None,
    steps: Annotated[int, typer.Option(help="Gradients between the two prompts.")] = 4,
    exact: Annotated[int, typer.Option(help="Edges to patch one by one as well.")] = 0,
    share: Annotated[
        float, typer.Option(help="Share of the clean answer that the circuit must bring back.")
    ] = 0.9,
    draws: Annotated[int, typer.Option(help="Random circuits to compare with.")] = 5,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    map_file: options.MapFile = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
    restart: options.Restart = False,
) -> None:
    """Find the circuit behind an answer: which parts of the model feed which others.

    Every edge gets a score from a few gradients. Circuits of growing size are then run exactly,
    with all other edges as on the corrupted prompt. The map is a drawing of the circuit. A stopped
    run with a .parquet output resumes.

    Examples:

      headscope edges names -m gpt2 --limit 24 -o names.json --map names.svg

      headscope edges pairs.jsonl -m my-model --exact 200 -o edges.parquet
    """
    check_output(output, (".parquet", ".json"), "A circuit")
    check_figure(map_file)
    from headscope.circuits.graph.edges import edges as run
    from headscope.circuits.patching.pairs import read_pairs
    from headscope.circuits.patching.ready import task

    given = task(pairs, limit or 50, seed) if pairs in READY else read_pairs(pairs)
    scope = open_scope(model, device, dtype, trust_remote_code)
    fitting = given.fitting(scope) if pairs in READY else given
    whole = output.suffix.lower() == ".parquet"
    found = run(
        scope, fitting, metric=metric, steps=steps, exact=exact, share=share, draws=draws,
        limit=limit, seed=seed, output=output if whole else None, restart=restart,
    )  # fmt: skip
    if map_file is not None:
        draw(found.draw(), map_file)
    out.print(
        f"{int(found.circuit.sum()):,} of {int(found.graph.possible.sum()):,} edges bring back "
        f"{found.faithfulness:.2f} of the clean answer; without them {found.completeness:.2f} is "
        f"left. CPR {found.cpr:.2f}, CMD {found.cmd:.2f}.",
        highlight=False,
    )
    shown: Any = found.edges.head(8).itertuples()
    for row in shown:
        out.print(
            f"{row.source} to {row.target} by {row.through}: {row.score:+.3f}", highlight=False
        )
    if exact:
        low, high = found.agreement_interval
        reach = f" ({low:.2f} to {high:.2f})" if low == low else ""
        out.print(
            f"scores and exact effects agree in rank: {found.agreement:.2f}{reach}",
            highlight=False,
        )
    if not whole:
        found.to_json(output)
    say_written(output)
