"""`headscope find`: which heads attend from one thing to another, over a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from headscope.cli.shared import options
from headscope.cli.shared.checks import (
    check_data,
    check_numbers,
    check_output,
)
from headscope.cli.shared.console import open_scope, out, say_written
from headscope.files import write_table


def register(app: typer.Typer) -> None:
    app.command("find")(find)


def find(
    corpus: Annotated[str, options.corpus()],
    query: Annotated[str, typer.Argument(help="A token or word, /expression/, or pos:NOUN.")],
    key: Annotated[str, typer.Argument(help="The same, or 'same' word, or its 'governor'.")],
    model: options.Model = None,
    top: Annotated[int, typer.Option(help="Heads to print.")] = 10,
    segments: Annotated[
        Literal["documents", "pairs"], typer.Option(help="What is read at once.")
    ] = "documents",
    limit: options.Limit = None,
    max_tokens: options.MaxTokens = None,
    field: options.Field = "text",
    layout: options.Layout = "auto",
    bad_data: options.BadData = "skip",
    seed: options.Seed = 0,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
    output: Annotated[Path | None, options.output("All heads as a table: .csv or .parquet")] = None,
) -> None:
    """Find the heads that attend from one thing to another.

    The score is the mean attention from fitting queries to fitting keys, averaged within each text,
    then over texts. Lift compares it with uniform attention. The standard error is over documents,
    and p says whether the score exceeds chance.

    Examples:

      headscope find corpus.txt it "/^(he|she|they)$/"

      headscope find corpus.txt pos:VERB governor -m bert-base-uncased

      headscope find sample "/./" same
    """
    if output is not None:
        check_output(output, (".csv", ".parquet"), "The table")
    check_numbers(limit=limit, max_tokens=max_tokens, top=top)
    check_data(corpus)
    from headscope.atlas.find import find_heads

    scope = open_scope(model, device, dtype, trust_remote_code)
    asked: dict[str, Any] = {
        "segments": segments, "max_tokens": max_tokens, "field": field, "layout": layout,
        "bad_data": bad_data, "seed": seed,
    }  # fmt: skip
    found: Any = find_heads(scope, corpus, query, key, limit=limit, **asked)
    clear = int(found["clear"].sum())
    if found["p"].isna().all():  # a warning explained it
        out.print(f"Attention of {len(found)} heads, not tested against chance:")
    else:
        out.print(f"{clear} of {len(found)} heads attend so more than chance would:")
    rows: Any = found.head(top).itertuples()
    for row in rows:
        named = row.kind if len(scope.kinds) > 1 else ""
        error = f" ± {row.error:.3f}" if row.error == row.error else ""  # a single text has none
        out.print(
            f"  {named} {row.layer}-{row.head}".rstrip()
            + f"   {row.score:.3f}{error}   lift {row.lift:.1f}"
            + ("" if row.clear else "   not clear"),
            highlight=False,
        )
    if output is not None:
        write_table(found, output)
        say_written(output)
