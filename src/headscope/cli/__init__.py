"""The command line: one file per command, found by looking in this folder.

A command file has `register(app)`, which adds its command; heavy imports belong inside the
command, so that `headscope --help` answers at once.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys

import typer

from headscope.cli.console import say_error
from headscope.errors import BadInput, HeadscopeError

_HELP = """See, measure and explain what every attention head of a Transformer does.

Without a command, headscope opens the app on the bundled model.

Examples:

  headscope

  headscope view "I went to the store." "At the store, I bought fresh strawberries." -o out.html

  headscope survey corpus.txt -o survey.parquet
"""


def build() -> typer.Typer:
    """The application with every command of this folder."""
    app = typer.Typer(
        help=_HELP,
        no_args_is_help=False,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )

    @app.callback(invoke_without_command=True)
    def start(  # pyright: ignore[reportUnusedFunction]
        context: typer.Context,
        version: bool = typer.Option(False, "--version", help="Print the version and leave."),
    ) -> None:
        if version:
            from headscope import __version__

            typer.echo(f"headscope {__version__}")
            raise typer.Exit
        if context.invoked_subcommand is None:
            from headscope.cli.app import open_app

            open_app()

    for entry in sorted(pkgutil.iter_modules(__path__), key=lambda found: found.name):
        module = importlib.import_module(f"{__name__}.{entry.name}")
        if hasattr(module, "register"):
            module.register(app)
    return app


def main() -> None:
    """Run a command; whatever goes wrong ends in one sentence and an exit code."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")  # every retry would be told
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    try:
        build()()
    except BadInput as error:
        say_error(str(error))
        sys.exit(2)
    except HeadscopeError as error:
        say_error(str(error))
        sys.exit(1)
    except KeyboardInterrupt:
        say_error("Stopped.")
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
