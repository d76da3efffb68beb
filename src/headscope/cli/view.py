"""`headscope view`: one text, one picture, in any format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.cli.console import open_scope, out, say_written
from headscope.errors import BadInput

VIEWS = ("head", "model", "neuron", "matrix", "headmap")


def register(app: typer.Typer) -> None:
    app.command("view")(view)


def view(
    text: Annotated[str, typer.Argument(help="The text, or the first of two sentences.")],
    text_pair: Annotated[
        str | None,
        typer.Argument(help="The second sentence; for encoder–decoder models the decoder's text."),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="A hub name, a folder or a GGUF file.")
    ] = None,
    name: Annotated[str, typer.Option("--view", "-v", help=" | ".join(VIEWS))] = "head",
    layer: Annotated[int | None, typer.Option(help="Layer, counted from 0.")] = None,
    head: Annotated[
        list[int] | None, typer.Option(help="Head, counted from 0; may be given several times.")
    ] = None,
    token: Annotated[int | None, typer.Option(help="The query token in hand, from 0.")] = None,
    kind: Annotated[str | None, typer.Option(help="encoder | decoder | cross")] = None,
    column: Annotated[str | None, typer.Option(help="What the head map colours by.")] = None,
    theme: Annotated[str, typer.Option(help="auto | light | dark")] = "auto",
    words: Annotated[bool, typer.Option("--words", help="Whole words instead of tokens.")] = False,
    specials: Annotated[str, typer.Option(help="shown | hidden | renormalised")] = "shown",
    sentences: Annotated[str, typer.Option("--filter", help="all | aa | ab | ba | bb")] = "all",
    layout: Annotated[str, typer.Option(help="vertical | horizontal")] = "vertical",
    minimum: Annotated[float, typer.Option(help="Leave out lines below this weight.")] = 0.0,
    generate: Annotated[
        int, typer.Option(help="Let the model write on by so many tokens, and read those too.")
    ] = 0,
    truncate: Annotated[
        bool, typer.Option("--truncate", help="Cut a text that is too long.")
    ] = False,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, mps.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help=".html, .svg, .png, .pdf or .safetensors"),
    ] = None,
) -> None:
    """Show what a model attends to while reading a text.

    Without -o the strongest weights are printed; with it the picture is written as a page
    (.html), a figure for print (.svg, .pdf, .png) or the reading itself (.safetensors).

    Examples:

      headscope view "I went to the store." "At the store, I bought fresh strawberries." -o out.html

      headscope view "Time flies." --view neuron --layer 2 --head 0 -o neuron.pdf
    """
    _check(name, output)
    scope = open_scope(model, device)
    if generate:
        reading = scope.generate(text, generate)
    else:
        reading = scope.read(text, text_pair, truncate=truncate)
    if output is not None and output.suffix == ".safetensors":
        reading.save(output)
        say_written(output)
        return
    from headscope.surfaces.view import View
    from headscope.views import Sending
    from headscope.views.default_labels import labels_for

    options: dict[str, Any] = {"specials": specials, "filter": sentences, "layout": layout}
    options |= {"minimum": minimum, "unit": "words" if words else "tokens"}
    chosen = _selection(name, layer, head, token, column) | {"kind": kind}
    shown = View(name, reading, Sending(theme, labels_for(reading)), {**chosen, **options})
    if output is None:
        from headscope.surfaces.terminal import strongest

        out.print(strongest(reading, shown.state))
        return
    say_written(shown.save(output))


def _check(name: str, output: Path | None) -> None:
    """What can be wrong is said before a model is opened."""
    if name not in VIEWS:
        raise BadInput(f"--view is one of {', '.join(VIEWS)}, not {name!r}.")
    known = (".html", ".svg", ".png", ".pdf", ".safetensors")
    if output is not None and output.suffix.lower() not in known:
        raise BadInput(f"{output.name} should end in {', '.join(known[:-1])} or {known[-1]}.")


def _selection(
    name: str,
    layer: int | None,
    heads: list[int] | None,
    token: int | None,
    column: str | None,
) -> dict[str, Any]:
    """Each view's own names for what is asked for."""
    one = heads[0] if heads else None
    if len(heads or ()) > 1 and name not in ("head", "model"):
        raise BadInput(f"The {name} view shows one head; give --head once.")
    return {
        "head": {"layer": layer, "heads": heads, "query": token},
        "model": {"heads": heads},
        "neuron": {"layer": layer, "head": one, "token": token},
        "matrix": {"layer": layer, "head": one},
        "headmap": {"column": column},
    }[name]
