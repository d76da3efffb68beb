"""`headscope probe contacts`: which head attends between residues that touch."""

from __future__ import annotations

from typing import Annotated

import typer

from headscope.cli.probe import found_heads, shared
from headscope.cli.shared import options
from headscope.cli.shared.console import open_scope


def register(app: typer.Typer) -> None:
    app.command("contacts")(contacts)


def contacts(
    data: found_heads.Pairs,
    output: shared.Output,
    contact: Annotated[
        float, typer.Option(help="Distance in Ångström below which residues touch.")
    ] = 8.0,
    apart: Annotated[int, typer.Option(help="Residues between two that count as a contact.")] = 6,
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
    """Which head attends between residues that touch, by precision at L/5.

    DATA is JSONL with `sequence`, and `contacts` (pairs of residues from 0) or `distances`, L × L.

    Examples:

      headscope probe contacts proteins.jsonl --model esm2 -o heads.csv --drawings contacts
    """
    found_heads.check(data, output, map_file, drawings, heads_file, limit, max_tokens, most_heads)
    scope = open_scope(model, device, dtype, trust_remote_code)
    from headscope import probe

    found = probe.contacts(
        scope, data, contact=contact, apart=apart, most_heads=most_heads,
        max_tokens=max_tokens, seed=seed, bad_data=bad_data, limit=limit, output=output,
        restart=restart,
    )  # fmt: skip
    found_heads.show(found, output, map_file, drawings, heads_file)
