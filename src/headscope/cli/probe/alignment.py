"""`headscope probe alignment`: which head aligns the words of a translation."""

from __future__ import annotations

from typing import Annotated

import typer

from headscope.cli.probe import found_heads, shared
from headscope.cli.shared import options
from headscope.cli.shared.checks import check_data
from headscope.cli.shared.console import open_scope


def register(app: typer.Typer) -> None:
    app.command("alignment")(alignment)


def alignment(
    data: found_heads.Pairs,
    output: shared.Output,
    target: Annotated[str | None, typer.Option(help="The translations, line by line.")] = None,
    links: Annotated[str | None, typer.Option(help="Word alignments: 0-0 1-2 on a line.")] = None,
    predicting: Annotated[
        bool, typer.Option("--predicting", help="Predict a word one position before its own.")
    ] = False,
    most_heads: found_heads.MostHeads = 4,
    max_tokens: options.MaxTokens = None,
    limit: options.Limit = None,
    bad_data: options.BadData = "skip",
    seed: options.Seed = 0,
    model: options.Model = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
    map_file: options.MapFile = None,
    drawings: shared.Drawings = None,
    heads_file: options.HeadsFile = None,
    restart: options.Restart = False,
) -> None:
    """Which head aligns the words of a translation, by alignment error rate.

    DATA is a file of `source ||| target ||| 0-0 1-2`, or the source sentences with --target and
    --links beside it.

    Examples:

      headscope probe alignment gold.txt --model opus-mt-en-de -o heads.csv --map heads.svg
    """
    found_heads.check(data, output, map_file, drawings, heads_file, limit, max_tokens, most_heads)
    check_data(target, links)
    scope = open_scope(model, device, dtype, trust_remote_code)
    from headscope import probe

    found = probe.alignment(
        scope, data, target, links, predicting=predicting, most_heads=most_heads,
        max_tokens=max_tokens, seed=seed, bad_data=bad_data, limit=limit, output=output,
        restart=restart,
    )  # fmt: skip
    found_heads.show(found, output, map_file, drawings, heads_file)
