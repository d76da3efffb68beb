"""`headscope live`: a page in which the model runs in the reader's browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from headscope.cli.shared import options
from headscope.cli.shared.console import open_scope, say_written


def register(app: typer.Typer) -> None:
    app.command("live")(live)


def live(
    output: Annotated[Path, options.output("A page (.html), or a folder for a static web host.")],
    model: options.Model = None,
    precision: Annotated[
        Literal["half", "single"],
        typer.Option(help="How weights are stored: half is smaller, single is exact to 1e-5."),
    ] = "half",
    title: Annotated[str | None, typer.Option(help="The page's title.")] = None,
    trust_remote_code: options.TrustRemoteCode = False,
) -> None:
    """Write a page with the model inside: readers type their own sentence, with nothing installed.

    A file ending in .html is complete in itself and opens from disk. Any other name is a folder
    whose files a static web host serves; it loads the weights with a progress bar.

    Examples:

      headscope live -o live.html

      headscope live -m ./smollm2 -o site/smollm2
    """
    from headscope.live import live_page

    scope = open_scope(model, "cpu", "float32", trust_remote_code)
    say_written(live_page(scope, output, precision=precision, title=title))
