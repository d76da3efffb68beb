"""`headscope probe speech`: which head times the words of a recording."""

from __future__ import annotations

import typer

from headscope.cli.probe import found_heads, shared
from headscope.cli.shared import options
from headscope.cli.shared.console import open_scope


def register(app: typer.Typer) -> None:
    app.command("speech")(speech)


def speech(
    data: found_heads.Pairs,
    output: shared.Output,
    most_heads: found_heads.MostHeads = 4,
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
    """Which cross head times words, by the mean absolute error of their starts and ends.

    DATA is a folder of sounds with word times beside them: .TextGrid, .ctm or Whisper's .json.

    Examples:

      headscope probe speech clips --model whisper-tiny -o heads.csv --heads-file heads.json
    """
    found_heads.check(data, output, map_file, drawings, heads_file, limit, None, most_heads)
    scope = open_scope(model, device, dtype, trust_remote_code)
    from headscope import probe

    found = probe.speech(
        scope, data, most_heads=most_heads, seed=seed,
        bad_data=bad_data, limit=limit, output=output, restart=restart,
    )  # fmt: skip
    found_heads.show(found, output, map_file, drawings, heads_file)
