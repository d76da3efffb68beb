"""`headscope probe`: what heads know of grammar, reference and meaning; one file per probe."""

from __future__ import annotations

import importlib
import pkgutil

import typer


def register(app: typer.Typer) -> None:
    probe = typer.Typer(
        help="What a head, or all heads together, know of grammar, reference and meaning.",
        no_args_is_help=True,
    )
    for entry in sorted(pkgutil.iter_modules(__path__), key=lambda found: found.name):
        module = importlib.import_module(f"{__name__}.{entry.name}")
        if hasattr(module, "register"):
            module.register(probe)
    app.add_typer(probe, name="probe")
