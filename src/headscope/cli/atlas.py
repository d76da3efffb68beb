"""`headscope atlas`: every head over a corpus, with the examples behind its numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli.shared import options
from headscope.cli.shared.checks import (
    check_data,
    check_numbers,
    check_output,
)
from headscope.cli.shared.console import err, open_scope, out, say_written

if TYPE_CHECKING:
    from headscope.atlas.atlas import Atlas

COMPARED = 0.125  # share of the queries used to compare heads
MUCH_UNKNOWN = 0.1  # share of all tokens that causes a warning


def register(app: typer.Typer) -> None:
    app.command("atlas")(atlas)


def atlas(
    corpus: Annotated[str, options.corpus()],
    output: Annotated[Path, options.output("The atlas: .atlas or .zip")],
    model: options.Model = None,
    top: Annotated[int, typer.Option(help="Strongest examples of every head and measure.")] = 20,
    per_decile: Annotated[int, typer.Option(help="Examples of every decile of a measure.")] = 2,
    no_text: Annotated[
        bool, typer.Option("--no-text", help="Keep no token of the corpus, only positions.")
    ] = False,
    distances: Annotated[
        bool, typer.Option(help="How unlike any two heads attend, and their groups.")
    ] = True,
    segments: options.Segments = "documents",
    limit: options.Limit = None,
    max_tokens: options.MaxTokens = None,
    field: options.Field = "text",
    layout: options.Layout = "auto",
    bad_data: options.BadData = "skip",
    seed: options.Seed = 0,
    engine: options.Engine = "local",
    address: Annotated[str | None, typer.Option(help="The Ray cluster's address.")] = None,
    workers: options.Workers = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
    restart: options.Restart = False,
) -> None:
    """Measure every head of a model over a corpus and keep the examples behind the numbers.

    The file holds excerpts of the corpus unless --no-text is given. A stopped run resumes with the
    same command.

    Examples:

      headscope atlas corpus.txt -o model.atlas

      headscope atlas sample --segments pairs -m bert-base-uncased -o bert.atlas
    """
    check_output(output, (".atlas", ".zip"), "The atlas")
    check_numbers(limit=limit, max_tokens=max_tokens, top=top, per_decile=per_decile,
                  workers=workers or 1)  # fmt: skip
    check_data(corpus)
    from headscope.atlas.make import atlas as make

    scope = open_scope(model, device, dtype, trust_remote_code)
    asked: dict[str, Any] = {
        "segments": segments, "max_tokens": max_tokens, "field": field, "layout": layout,
        "bad_data": bad_data, "seed": seed, "engine": engine, "address": address,
        "workers": workers,
    }  # fmt: skip
    found = make(
        scope, corpus, top=top, per_decile=per_decile, text=not no_text,
        distances=COMPARED if distances else 0.0,
        limit=limit, output=output, restart=restart, **asked,
    )  # fmt: skip
    _summary(found, scope.tokenizer)
    say_written(output)


def _summary(found: Atlas, tokenizer: Any) -> None:
    about = found.description
    labelled = found.labels.groupby(["kind", "layer", "head"]).ngroups
    segments = about["segments"]
    out.print(
        f"{segments:,} {'segment' if segments == 1 else 'segments'}, {about['tokens']:,} tokens, "
        f"{len(found.frame('examples')):,} examples; "
        f"{labelled} {'head' if labelled == 1 else 'heads'} labelled.",
        highlight=False,
    )
    cut = about["truncated"]
    if cut:
        err.print(
            f"{cut:,} {'text was' if cut == 1 else 'texts were'} longer than "
            f"{about['settings']['max_tokens']} tokens and cut; --segments windows reads the rest.",
            highlight=False,
        )
    unknown = _unknown(found, tokenizer)
    if unknown > MUCH_UNKNOWN:
        err.print(
            f"The model does not know {unknown:.0%} of the tokens; what heads do on those says "
            "little: is it a model of this language?",
            highlight=False,
        )
    if found.has_text:
        err.print(
            "The atlas holds excerpts of the corpus; make it with --no-text to keep none.",
            highlight=False,
        )


def _unknown(found: Atlas, tokenizer: Any) -> float:
    """The share of the kept texts' tokens that are unknown to the vocabulary."""
    texts: list[Any] = list(found.frame("documents")["ids"])
    number = getattr(tokenizer, "unk_token_id", None)
    if not texts or number is None:
        return 0.0
    return sum(int((ids == number).sum()) for ids in texts) / sum(map(len, texts))
