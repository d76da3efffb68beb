"""`headscope models`: the bundled models, and what headscope can read of a model."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headscope.cli.shared import options
from headscope.cli.shared.console import open_scope, out

_WAYS = {
    "interface": "the registered attention function: weights, q, k and v",
    "tap": "the softmax: weights only",
    "family": "a file for this family: weights only",
}


def register(app: typer.Typer) -> None:
    app.command("models")(models)


def models(
    model: Annotated[
        str | None,
        typer.Argument(
            help="A hub name, a model's folder or a GGUF file; the bundled model if left out."
        ),
    ] = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
) -> None:
    """Print how headscope reads a model's attention, and what it can read.

    Examples:

      headscope models

      headscope models bert-base-uncased

      headscope models digits
    """
    from rich.table import Table

    scope = open_scope(model, device, dtype, trust_remote_code)
    found = scope.description
    table = Table(title=f"{scope.name} ({type(scope.model).__name__})", title_justify="left")
    for heading in ("attention", "layers", "heads", "key/value heads"):
        table.add_column(heading)
    for kind in found.kinds:
        table.add_row(
            kind, str(found.layers[kind]), str(found.heads[kind]), str(found.groups[kind])
        )
    out.print(table)
    out.print(f"read through    {_WAYS[found.read_at]}")
    out.print(
        f"q and k         {'yes' if found.reads_qk else 'no: the neuron view is not available'}"
    )
    out.print(
        f"positional bias {'yes, shown apart' if found.positional_bias else 'none seen apart'}"
    )
    limit = scope.max_tokens
    out.print(f"longest input   {f'{limit:,} tokens' if limit else 'no fixed limit'}")
    parameters = sum(parameter.numel() for parameter in scope.model.parameters())
    out.print(f"size            {parameters / 1e6:.1f} M parameters on {scope.device}")
    _say_refusals(scope)
    for warning in scope.warnings:
        out.print(f"warning         {warning}")
    if model is None:
        _say_bundled()


def _say_refusals(scope: Any) -> None:
    """Print the errors that functions would raise for this model."""
    from headscope.circuits.capabilities import capabilities

    by_sentence: dict[str, list[str]] = {}
    able: list[str] = []
    for function, refusal in capabilities(scope).items():
        if refusal is None:
            able.append(function)
        else:
            by_sentence.setdefault(refusal, []).append(function)
    out.print(f"functions       {', '.join(able) or 'scope.read and views alone'}")
    for sentence, functions in by_sentence.items():
        out.print(f"refused         {', '.join(functions)}: {sentence}")


def _say_bundled() -> None:
    """Print what the bundled model is and where its documentation is."""
    from headscope.models.open import ABOUT, ABOUT_NAMED, BUNDLED

    megabytes = sum(path.stat().st_size for path in BUNDLED.iterdir()) / 1e6
    out.print(f"bundled         {ABOUT}; {megabytes:.0f} MB")
    # a path must not be wrapped at the edge of the terminal
    out.print(f"model card      {BUNDLED / 'README.md'}", soft_wrap=True)
    for name, about in ABOUT_NAMED.items():
        out.print(f"comes along     -m {name}: {about}")
