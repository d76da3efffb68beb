"""`headscope probe`: what heads know of grammar, reference and meaning; one file per probe."""

from __future__ import annotations

import typer

from headscope.discovery import modules


def register(app: typer.Typer) -> None:
    probe = typer.Typer(
        help="What a head, or all heads together, know of grammar, reference and meaning.",
        no_args_is_help=True,
    )
    for module in modules(__name__):
        if hasattr(module, "register"):
            module.register(probe)
    app.add_typer(probe, name="probe")
