"""`headscope probe features`: how much attention goes to linguistic features."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headscope.cli.probe import shared
from headscope.cli.shared import options
from headscope.cli.shared.console import open_scope, say_faults, say_written, show_table
from headscope.files import beside, write_table


def register(app: typer.Typer) -> None:
    app.command("features")(features)


def features(
    data: shared.Data,
    output: shared.Output,
    other: Annotated[
        str | None, typer.Option(help="A second model to compare with the first.")
    ] = None,
    max_tokens: options.MaxTokens = 128,
    limit: options.Limit = None,
    layout: options.Layout = "auto",
    bad_data: options.BadData = "skip",
    model: options.Model = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
    restart: options.Restart = False,
) -> None:
    """How much attention goes to nouns, verbs, pronouns, subjects, objects, negation, specials.

    DATA is CoNLL-U (plain text is parsed with spaCy). With --other the table shows two models and
    the change.

    Examples:

      headscope probe features en-dev.conllu --model bert-base-uncased --other my-model -o f.csv
    """
    shared.check(data, table=output, limit=limit, max_tokens=max_tokens)
    sentences = shared.sentences(data, limit, bad_data, layout)
    # each model is a run with its own output
    places = [beside(output, "first"), beside(output, "second")] if other else [output]
    results: list[Any] = []
    names = [model, other] if other else [model]  # open both before measuring either
    scopes = [open_scope(name, device, dtype, trust_remote_code) for name in names]
    from headscope import probe

    for scope, place in zip(scopes, places, strict=True):
        results.append(probe.features(scope, sentences, max_tokens=max_tokens, bad_data=bad_data,
                                      output=place, restart=restart))  # fmt: skip
        say_written(place)
    table = results[0].heads
    if other:
        from headscope.probes.features.attention import compare_features

        table = compare_features(*results)
        write_table(table, output)
        say_written(output)
    column = "change" if other else "score"
    best = table.sort_values(column, ascending=False).groupby(["measure", "feature"]).head(1)
    show_table(best)
    say_faults(results[0].faults)
