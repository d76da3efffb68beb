"""`headscope probe relations`: which head links two spans of a text."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headscope.cli.probe import shared
from headscope.cli.shared import options
from headscope.cli.shared.checks import check_numbers
from headscope.cli.shared.console import draw, open_scope, say_faults, say_written, show_table

DRAWN = 6


def register(app: typer.Typer) -> None:
    app.command("relations")(relations)


def relations(
    data: shared.Data,
    output: shared.Output,
    shuffles: Annotated[int, typer.Option(help="Displaced corpora for the null.")] = 99,
    max_tokens: options.MaxTokens = 512,
    limit: options.Limit = None,
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
    """Which head links two spans of a text: a frame's words and the word that evokes it.

    DATA is JSONL (text, target, elements by character) or a FrameNet folder.

    Examples:

      headscope probe relations framenet.jsonl -o relations.csv --map relations.svg
    """
    shared.check(data, table=output, map_file=map_file, drawings=drawings, limit=limit,
                 max_tokens=max_tokens)  # fmt: skip
    check_numbers(shuffles=shuffles)
    from headscope.corpus.relations.corpus import Relations

    examples = Relations(data, bad_data, limit)
    scope = open_scope(model, device, dtype, trust_remote_code)
    from headscope import probe

    found = probe.relations(scope, examples, max_tokens=max_tokens, shuffles=shuffles,
                            seed=seed, bad_data=bad_data, output=output,
                            restart=restart)  # fmt: skip
    say_written(output)
    if map_file:
        draw(found.plot(), map_file)
    if drawings:
        from headscope.probes.drawings import relation_lines

        top: Any = found.best().iloc[0]
        for number, (relation, _) in enumerate(found.examples[:DRAWN], 1):
            figure = relation_lines(scope, relation, int(top["layer"]), int(top["head"]))
            draw(figure, shared.in_folder(drawings, f"example-{number}"))
    best = found.heads.sort_values("score", ascending=False).groupby("variant", sort=False).head(3)
    show_table(best)
    say_faults(found.faults)
