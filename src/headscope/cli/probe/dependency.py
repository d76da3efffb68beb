"""`headscope probe dependency`: which head finds the syntactic governor of a word."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from headscope.cli.probe import shared
from headscope.cli.shared import options
from headscope.cli.shared.checks import check_numbers
from headscope.cli.shared.console import draw, err, open_scope, say_faults, show_table
from headscope.files import beside

if TYPE_CHECKING:
    from headscope.probes.dependency.heads import DependencyResult
    from headscope.reading import Scope

SHOWN = ["relation", "cases", "layer", "head", "direction", "accuracy", "low", "high", "baseline",
         "offset"]  # fmt: skip


def register(app: typer.Typer) -> None:
    app.command("dependency")(dependency)


def dependency(
    data: shared.Data,
    output: shared.Output,
    test: Annotated[str | None, typer.Option(help="Score on this; else on half of DATA.")] = None,
    train: Annotated[
        str | None, typer.Option(help="Also train the probes over all heads on this treebank.")
    ] = None,
    vectors: Annotated[
        Literal["glove", "embeddings"], typer.Option(help="Word vectors to use.")
    ] = "glove",
    glove: Annotated[Path | None, typer.Option(help="A GloVe text file.")] = None,
    subtypes: Annotated[
        Literal["keep", "fold"], typer.Option(help="keep nsubj:pass apart, or fold into nsubj.")
    ] = "keep",
    possessive: Annotated[
        Literal["word", "marker"], typer.Option(help="Score a possessor by its word or marker.")
    ] = "word",
    minimum: Annotated[int, typer.Option(help="Cases that a relation needs to be listed.")] = 100,
    mode: shared.Mode = "mean",
    max_tokens: options.MaxTokens = 128,
    limit: options.Limit = None,
    layout: options.Layout = "auto",
    bad_data: options.BadData = "skip",
    seed: options.Seed = 0,
    model: options.Model = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
    map_file: options.MapFile = None,
    drawings: shared.Drawings = None,
    restart: options.Restart = False,
) -> None:
    """Which head finds the syntactic governor of a word, relation by relation.

    DATA is a CoNLL-U file, folder or archive of any language (plain text is parsed with spaCy).
    Heads are chosen on DATA and scored on --test. Every head's accuracy goes beside the table
    (…-heads.csv), every scored word with what its head chose (…-cases.csv), and the probes over
    all heads with --train (…-probes.csv).

    Examples:

      headscope probe dependency en-dev.conllu --test en-test.conllu -o heads.csv --map heads.svg

      headscope probe dependency dev.conllu --test test.conllu --train train.conllu -o heads.csv
    """
    shared.check(data, test, train, table=output, map_file=map_file, drawings=drawings,
                 limit=limit, max_tokens=max_tokens)  # fmt: skip
    check_numbers(minimum=minimum)
    chosen: dict[str, Any] = {
        "mode": mode,
        "bad_data": bad_data,
        "max_tokens": max_tokens,
        "seed": seed,
    }
    names = {
        "subtypes": subtypes,
        "possessive": possessive,
    }
    shared.warn_of_same(data, test)
    dev = shared.sentences(data, limit, chosen["bad_data"], layout)
    scored, learnt = (
        shared.sentences(given, limit, chosen["bad_data"], layout) if given else None
        for given in (test, train)
    )
    scope = open_scope(model, device, dtype, trust_remote_code)
    from headscope import probe

    chosen["restart"] = restart
    found = probe.dependency(scope, dev, scored, minimum=minimum, **names, **chosen, output=output)
    shared.say_output(output, "heads", "cases")
    _draw(scope, found, dev, map_file, drawings)
    _summary(found)
    if learnt is not None:
        parts = learnt, dev, scored or dev
        _all_heads(scope, parts, output, {"vectors": vectors, "glove": glove, **chosen})


def _summary(found: DependencyResult) -> None:
    show_table(found.summary, SHOWN)
    say_faults(found.faults)
    if found.dropped_words:
        err.print(f"{found.dropped_words} words (or their governors) have no token here.")


def _draw(
    scope: Scope, found: DependencyResult, dev: Any, map_file: Path | None, drawings: Path | None
) -> None:
    from headscope.probes.drawings import best_heads, relation_head_map

    if map_file:
        draw(relation_head_map(found), map_file)
    if drawings:
        for name, figure in best_heads(scope, found, dev):
            draw(figure, shared.in_folder(drawings, name))


def _all_heads(
    scope: Scope, parts: tuple[Iterable[Any], ...], output: Path, chosen: dict[str, Any]
) -> None:
    from headscope import probe

    train, dev, test = parts
    place = beside(output, "probes")
    whole = probe.all_heads(scope, train, dev, test, **chosen, output=place)
    shared.say_output(place, "heads")
    err.print(f"Word vectors: {whole.vectors}.", highlight=False)
    show_table(whole.summary)
    say_faults(whole.faults)
