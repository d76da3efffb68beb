"""`headscope patterns`: every head scored on every named pattern, and its kinds of map."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli import options
from headscope.cli.checks import (
    check_choice,
    check_data,
    check_numbers,
    check_output,
    check_reading,
)
from headscope.cli.console import err, open_scope, out, progress, say_written
from headscope.errors import BadInput

if TYPE_CHECKING:
    from headscope.reading import Scope

MAPS = 1000  # documents whose maps are classified, as in the paper


def register(app: typer.Typer) -> None:
    app.command("patterns")(patterns)


def patterns(
    corpus: Annotated[str, options.corpus()],
    model: options.Model = None,
    segments: Annotated[
        str | None,
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
) -> None:
    """Score every head on every pattern, and label those that hold.

    The table has a row per head and pattern: score, lift over uniform attention, key-permutation
    null, standard error, p, and whether the head earns the label. With --kinds it has a row per
    head with the share of texts on which its map is vertical, diagonal, both, block or neither.

    Examples:

      headscope patterns corpus.txt -o heads.csv

      headscope patterns corpus.txt --model bert-base-uncased --kinds -o kinds.csv
    """  # fmt: skip
    check_output(output, (".csv", ".parquet"), "The table")
    check_reading(bad_data, layout)
    check_numbers(seed=seed, limit=limit, max_tokens=max_tokens)
    if segments is not None:
        check_choice("segments", segments, "documents", "pairs")
    check_data(corpus)
    if corpus == "-" and predictive:
        raise BadInput("A pipe is read once and --predictive reads twice; write it to a file.")
    scope = open_scope(model, device, dtype, trust_remote_code)
    cut = segments or ("documents" if scope.causal else "pairs")
    reading = {"field": field, "layout": layout, "bad": bad_data, "seed": seed}
    if kinds:
        _kinds(scope, corpus, cut, limit or MAPS, max_tokens or 128, output, reading)
    else:
        _scores(scope, corpus, cut, limit, max_tokens, predictive, output, reading)
    say_written(output)


def _scores(
    scope: Scope,
    corpus: str,
    cut: Any,
    limit: int | None,
    max_tokens: int | None,
    guesses: int,
    output: Path,
    reading: dict[str, Any],
) -> None:
    import pandas as pd

    from headscope.patterns import evidence, measures, predictive
    from headscope.patterns import patterns as known
    from headscope.patterns.labels import in_order
    from headscope.statistics.survey.run import survey

    kept = output.with_name(f"{output.stem}.survey.parquet")  # a stopped run goes on from here
    found = survey(
        scope, corpus, measures(scope), segments=cut, limit=limit, max_tokens=max_tokens,
        output=kept, **reading,
    )  # fmt: skip
    table = found.table
    if guesses:
        texts = _texts(scope, corpus, cut, max_tokens or 40, guesses, reading)
        with progress() as bar:
            task = bar.add_task("predictive words", total=guesses)
            guessed = predictive(scope, texts, guesses, lambda: bar.advance(task))
        table = pd.concat([table, guessed], ignore_index=True)
    frame: Any = evidence.table(table, known())
    write(frame, output)
    if found.complete:
        kept.unlink(missing_ok=True)
    else:
        err.print(f"Stopped early; run the same command again to go on ({kept.name}).")
    held: Any = in_order(frame)
    heads = held.groupby(["kind", "layer", "head"]).ngroups
    every = frame.groupby(["kind", "layer", "head"]).ngroups
    out.print(f"{heads} of {every} heads labelled, on {found.metadata['segments']} segments:")
    for label, rows in held.groupby("label"):
        best = rows.nlargest(3, "score")
        named = ", ".join(f"{r.layer}-{r.head} {r.score:.2f}" for r in best.itertuples())
        out.print(f"  {label:30} {len(rows):3}   {named}", highlight=False)


def _kinds(
    scope: Scope, corpus: str, cut: Any, limit: int, longest: int, output: Path,
    reading: dict[str, Any],
) -> None:  # fmt: skip
    from headscope.patterns.kinds import KINDS, shares

    texts = _texts(scope, corpus, cut, longest, limit, reading)
    with progress() as bar:
        task = bar.add_task("maps", total=None)

        def readings() -> Any:
            for first, second in texts:
                yield scope.read(first, second, keep=("weights",), truncate=True)
                bar.advance(task)

        frame: Any = shares(readings())
    write(frame, output)
    out.print(f"{int(frame['documents'].sum()):,} maps of {scope.name}:")
    for name in KINDS:
        share = (frame[name] * frame["documents"]).sum() / frame["documents"].sum()
        out.print(f"  {name:20} {share:6.1%}", highlight=False)


def _texts(
    scope: Scope, corpus: str, cut: Any, longest: int, limit: int, reading: dict[str, Any]
) -> Any:
    from itertools import islice

    from headscope.corpus.bad_data import Faults
    from headscope.corpus.text.documents import Reader
    from headscope.corpus.text.segments import segments

    documents = Reader(reading["field"], reading["layout"]).documents(
        corpus, Faults(reading["bad"])
    )
    every = segments(documents, cut, scope.tokenizer, longest=longest, seed=reading["seed"])
    return [(one.text, one.pair) for one in islice(every, limit)]


def write(frame: Any, path: Path) -> None:
    """A table by the ending of its name, whole or not at all."""
    from headscope.files import atomic_path

    with atomic_path(path) as temporary:
        if path.suffix == ".csv":
            frame.to_csv(temporary, index=False)
        else:
            frame.to_parquet(temporary)
