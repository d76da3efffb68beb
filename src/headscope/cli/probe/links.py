"""`headscope probe links`: which head carries a labelled relation of your own."""

from __future__ import annotations

import typer

from headscope.cli.probe import found_heads, shared
from headscope.cli.shared import options
from headscope.cli.shared.console import open_scope


def register(app: typer.Typer) -> None:
    app.command("links")(links)


def links(
    data: found_heads.Pairs,
    output: shared.Output,
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
    """Which head attends from one labelled position to another, by precision at one.

    DATA is a .jsonl file of documents with links by character, the query first:
    {"text": "The cat sat.", "pairs": [[[8, 11], [4, 7]]]}.

    Examples:

      headscope probe links relation.jsonl -o heads.csv --map heads.svg
    """
    found_heads.check(data, output, map_file, drawings, heads_file, limit, max_tokens, most_heads)
    scope = open_scope(model, device, dtype, trust_remote_code)
    from headscope.roles.find import find_heads

    found = find_heads(
        scope, data, most_heads=most_heads, max_tokens=max_tokens, seed=seed, bad_data=bad_data,
        limit=limit, output=output, restart=restart,
    )  # fmt: skip
    found_heads.show(found, output, map_file, drawings, heads_file)
