"""`headscope probe coreference`: which head attends from a mention to its antecedent."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from headscope.cli.probe import shared
from headscope.cli.shared import options
from headscope.cli.shared.console import draw, err, open_scope, say_faults, show_table

SHOWN = ["method", "candidates", "layer", "head", "direction", "all", "pronoun", "proper",
         "nominal", "low", "high"]  # fmt: skip
PAIRED = ["method", "candidates", "baseline", "above_baseline", "above_low", "above_high",
          "p_holm"]  # fmt: skip


def register(app: typer.Typer) -> None:
    app.command("coreference")(coreference)


def coreference(
    data: shared.Data,
    output: shared.Output,
    windows: Annotated[
        Literal["first", "all"], typer.Option(help="The first window of a document, or all.")
    ] = "first",
    mode: shared.Mode = "mean",
    max_tokens: options.MaxTokens = 128,
    limit: options.Limit = None,
    bad_data: options.BadData = "skip",
    seed: options.Seed = 0,
    model: options.Model = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
    map_file: options.MapFile = None,
    restart: options.Restart = False,
) -> None:
    """Which head attends from a mention to its antecedent.

    DATA is CoNLL-2012 style (.conll), CoNLL-U with Entity= (.conllu) or GAP (.tsv): a file, a
    folder or an archive. Heads are chosen on every second document and scored on the others. Every
    head's accuracy goes beside the table (…-heads.csv), and every scored mention with what the
    best heads chose (…-cases.csv).

    Examples:

      headscope probe coreference ontogum.tar.xz -o coreference.csv --map coreference.svg
    """
    shared.check(data, table=output, map_file=map_file, limit=limit, max_tokens=max_tokens)
    chosen: dict[str, Any] = {
        "windows": windows,
        "mode": mode,
        "bad_data": bad_data,
        "max_tokens": max_tokens,
        "seed": seed,
    }
    from headscope.corpus.coreference.corpus import CoreferenceCorpus

    documents = CoreferenceCorpus(data, chosen["bad_data"], limit)
    scope = open_scope(model, device, dtype, trust_remote_code)
    from headscope import probe

    found = probe.coreference(scope, documents, **chosen, output=output, restart=restart)
    shared.say_output(output, "heads", "cases")
    if map_file:
        draw(found.plot(), map_file)
    show_table(found.summary, SHOWN)
    show_table(found.summary.dropna(subset=["baseline"]), PAIRED)
    err.print(f"Scored mentions: {found.mentions}.", highlight=False)
    say_faults(found.faults)
