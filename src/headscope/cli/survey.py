"""`headscope survey`: every head measured over a corpus."""

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
    from headscope.surveys.table import Survey


def register(app: typer.Typer) -> None:
    app.command("survey")(survey)


def survey(
    corpus: Annotated[str | None, options.corpus()] = None,
    output: Annotated[Path | None, options.output("The table: .parquet or .csv")] = None,
    model: options.Model = None,
    statistics: Annotated[
        list[str] | None,
        typer.Option("--statistics", "-s", help="A statistic; several times, or 'all'."),
    ] = None,
    segments: options.Segments = "windows",
    stride: Annotated[
        int | None,
        typer.Option(help="Tokens from one window to the next; else its length."),
    ] = None,
    max_tokens: options.MaxTokens = None,
    limit: options.Limit = None,
    distances: Annotated[
        bool, typer.Option("--distances", help="Also how unlike any two heads attend.")
    ] = False,
    interval: Annotated[
        float | None, typer.Option(help="Bootstrap intervals of this level, such as 0.95.")
    ] = None,
    token_types: Annotated[
        Literal["proper", "zeros"], typer.Option(help="Segment ids as the model expects, or 0.")
    ] = "proper",
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
    batch_tokens: Annotated[int | None, typer.Option(help="Tokens read at once.")] = None,
    restart: options.Restart = False,
    listed: Annotated[
        bool, typer.Option("--list", help="Print every statistic and its definition.")
    ] = False,
) -> None:
    """Measure every head of a model over a corpus.

    A stopped run resumes with the same command.

    Examples:

      headscope survey corpus.txt -o survey.parquet

      headscope survey wiki.raw --segments pairs --limit 1000 -m bert-base-uncased -o s.parquet

      zcat big.jsonl.gz | headscope survey - -o survey.parquet
    """
    if listed:
        _print_list()
        return
    if corpus is None or output is None:
        raise BadInput("Give a corpus to read and -o FILE to write, or --list.")
    check_output(output, (".parquet", ".csv"), "A survey")
    check_numbers(limit=limit, max_tokens=max_tokens, batch_tokens=batch_tokens or 1,
                  workers=workers or 1, stride=stride or 1)  # fmt: skip
    if interval is not None and not 0 < interval < 1:
        raise BadInput(f"An interval is a share between 0 and 1, such as 0.95, not {interval}.")
    check_data(corpus)
    chosen = "all" if statistics == ["all"] else statistics
    from headscope.statistics.discovery import choose
    from headscope.surveys.run import survey as measure

    choose(chosen)  # an unknown name raises at once
    scope = open_scope(model, device, dtype, trust_remote_code)
    asked: dict[str, Any] = {
        "segments": segments, "stride": stride, "max_tokens": max_tokens, "limit": limit,
        "distances": distances, "interval": interval, "token_types": token_types, "seed": seed,
        "output": output, "restart": restart, "engine": engine, "address": address,
        "workers": workers, "field": field, "layout": layout, "bad_data": bad_data,
        "batch_tokens": batch_tokens,
    }  # fmt: skip
    _print_summary(measure(scope, corpus, chosen, **asked))
    say_written(output)


def _print_summary(found: Survey) -> None:
    from headscope.surveys.table import account

    about = found.metadata
    for sentence in [*account(about), f"{len(found.statistics)} statistics."]:
        err.print(sentence, markup=False, highlight=False, soft_wrap=True)
    for reason in dict.fromkeys(about["not measured"].values()):
        err.print(reason, markup=False, highlight=False, soft_wrap=True)


def _print_list() -> None:
    from headscope.measures import every
    from headscope.statistics import discover

    known = discover()
    for name, measure in every().items():
        if name not in known or measure.yardstick_of is not None:
            continue
        star = "*" if measure.standard else " "
        out.print(f"{star} {name}  ({measure.unit})", markup=False, highlight=False)
        out.print(f"    {measure.sentence}", markup=False, highlight=False, soft_wrap=True)
    out.print("* measured unless others are named")
