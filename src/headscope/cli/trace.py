"""`headscope trace`: a prediction followed backwards, from head to key to writer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli.shared import options
from headscope.cli.shared.checks import check_numbers, check_output
from headscope.cli.shared.console import open_scope, out, say_written

ENDINGS = (".json", ".html", ".svg", ".pdf", ".png")


def register(app: typer.Typer) -> None:
    app.command("trace")(trace)


def trace(
    text: Annotated[str, typer.Argument(help="The text that the model answers.")],
    target: Annotated[
        str | None, typer.Option(help="The token that is followed. Default: likeliest.")
    ] = None,
    position: Annotated[int | None, typer.Option(help="Which token's answer, from 0.")] = None,
    most_heads: Annotated[int, typer.Option(help="The most heads followed from the answer.")] = 2,
    writers: Annotated[int, typer.Option(help="Writers named of each query and key.")] = 2,
    depth: Annotated[int, typer.Option(help="How often a writing head is followed again.")] = 2,
    model: options.Model = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
    output: Annotated[Path | None, options.output(", ".join(ENDINGS))] = None,
) -> None:
    """Follow a prediction backwards: the heads that made it, what they read, and what wrote that.

    Examples:

      headscope trace "Paris is the [MASK] of France." --target capital

      headscope trace "The keys near the house" -m gpt2 --depth 3 -o trace.html
    """
    check_numbers(most_heads=most_heads, writers=writers, depth=depth)
    if output is not None:
        check_output(output, ENDINGS, "A trace")
    from headscope.circuits.followed import trace as run

    scope = open_scope(model, device, dtype, trust_remote_code)
    found = run(
        scope,
        text,
        target=target,
        position=position,
        most_heads=most_heads,
        writers=writers,
        depth=depth,
    )
    out.print(str(found), highlight=False, markup=False, soft_wrap=True)
    if output is None:
        return
    if output.suffix.lower() == ".json":
        found.save(output)
    else:
        import headscope

        headscope.graph_view(found, reading=scope.read(text)).save(output)
    say_written(output)
