"""`headscope patterns`: every head scored on every named pattern, and its kinds of map."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from headscope.cli.shared import options
from headscope.cli.shared.checks import (
    check_data,
    check_numbers,
    check_output,
)
from headscope.cli.shared.console import err, open_scope, out, say_written
from headscope.errors import BadInput

if TYPE_CHECKING:
    from headscope.reading import Scope


def register(app: typer.Typer) -> None:
    app.command("patterns")(patterns)


def patterns(
    corpus: Annotated[str, options.corpus()],
    model: options.Model = None,
    segments: Annotated[
        Literal["documents", "pairs"] | None,
        typer.Option(
            help="'pairs' of sentences or whole 'documents'; pairs if left out, "
            "documents for models that only look back."
        ),
    ] = None,
    kinds: Annotated[
        bool, typer.Option("--kinds", help="Classify maps into five kinds instead.")
    ] = False,
    predictive: Annotated[
        int, typer.Option(help="Also guess masked words in this many texts (slow).")
    ] = 0,
    limit: options.Limit = None,
    max_tokens: options.MaxTokens = None,
    field: options.Field = "text",
    layout: options.Layout = "auto",
    bad_data: options.BadData = "skip",
    seed: options.Seed = 0,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
    output: Annotated[Path, options.output("The table: .csv or .parquet")] = Path("heads.csv"),
    restart: options.Restart = False,
) -> None:
    """Score every head on every pattern, and label the heads that show one.

    The table has a row per head and pattern: score, lift over uniform attention, key-permutation
    null, standard error, p, and whether the head earns the label. With --kinds it has a row per
    head with the share of texts on which its map is vertical, diagonal, both, block or neither.

    Examples:

      headscope patterns corpus.txt -o heads.csv

      headscope patterns corpus.txt --model bert-base-uncased --kinds -o kinds.csv
    """  # fmt: skip
    check_output(output, (".csv", ".parquet"), "The table")
    check_numbers(limit=limit, max_tokens=max_tokens)
    check_data(corpus)
    if corpus == "-" and predictive:
        raise BadInput(
            "--predictive reads the corpus twice, and a pipe can be read only once; "
            "save the corpus to a file."
        )
    scope = open_scope(model, device, dtype, trust_remote_code)
    asked: dict[str, Any] = {
        "cut": segments, "max_tokens": max_tokens, "limit": limit, "output": output,
        "restart": restart, "field": field, "layout": layout, "bad_data": bad_data, "seed": seed,
    }  # fmt: skip
    if kinds:
        from headscope.patterns.over_corpus import map_kind_shares

        _say_kinds(scope, map_kind_shares(scope, corpus, **asked))
    else:
        from headscope.patterns.over_corpus import pattern_scores

        _say_scores(pattern_scores(scope, corpus, predictive=predictive, **asked))
    say_written(output)


def _say_scores(frame: Any) -> None:
    from headscope.patterns.labels import in_order

    for sentence in frame.attrs["account"]:
        err.print(sentence, markup=False, highlight=False, soft_wrap=True)
    held: Any = in_order(frame)
    heads = held.groupby(["kind", "layer", "head"]).ngroups
    every = frame.groupby(["kind", "layer", "head"]).ngroups
    if frame["p"].isna().all():  # a warning explained it
        out.print(f"No label can be given to the {every} heads from so few segments.")
        return
    out.print(f"{heads} of {every} heads labelled, on {frame.attrs['segments']} segments:")
    for label, rows in held.groupby("label"):
        best = rows.nlargest(3, "score")
        named = ", ".join(f"{r.layer}-{r.head} {r.score:.2f}" for r in best.itertuples())
        out.print(f"  {label:30} {len(rows):3}   {named}", highlight=False)


def _say_kinds(scope: Scope, frame: Any) -> None:
    from headscope.patterns.kinds import KINDS

    out.print(f"{int(frame['documents'].sum()):,} maps of {scope.name}:")
    for name in KINDS:
        share = (frame[name] * frame["documents"]).sum() / frame["documents"].sum()
        out.print(f"  {name:20} {share:6.1%}", highlight=False)
