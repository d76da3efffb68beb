"""The command line: one file per command, found by looking in this folder.

A command file has `register(app)`, which adds its command; heavy imports belong inside the
command, so that `headscope --help` answers at once.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from headscope.arguments import MOST_SEED
from headscope.cli.shared.console import plain_warnings, say_error
from headscope.discovery import modules
from headscope.errors import BadInput, HeadscopeError
from headscope.interrupts import remembered, was_asked

# newer versions of typer carry their own click, older ones use the package
_MISUSE: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")
MOST_SAID = 200  # characters of another library's message
_QUIET = {
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_VERBOSITY": "error",  # it would print every retry
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
}
_SETTINGS = ("HF_", "TRANSFORMERS_", "TORCH", "OMP_", "MKL_", "MPL", "CUDA_", "TOKENIZERS_", "RAY_",
             "HUGGINGFACE", "COLUMNS", "LINES", "HEADSCOPE_")  # fmt: skip
_HELP = """See, measure and explain what every attention head of a Transformer does.

Without a command, headscope opens the app on the bundled model.

Examples:

  headscope

  headscope view "I went to the store." "At the store, I bought fresh strawberries." -o out.html

  headscope survey corpus.txt -o survey.parquet
"""


class _Told(int):
    """An exit code whose reason was printed."""


class _Stoppable(TyperGroup):
    """The commands; a stop prints what is in the checkpoint, where typer would print nothing."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            say_error(str(stop) or "Stopped.")
            raise typer.Exit(_Told(130)) from None


class _Bounded(TyperCommand):
    """A command that limits its whole numbers to sensible sizes."""

    def invoke(self, ctx: Any) -> Any:
        for name, value in ctx.params.items():
            if isinstance(value, int) and abs(value) > MOST_SEED:
                raise BadInput(f"--{name.replace('_', '-')} is too large a number: {value}.")
        return super().invoke(ctx)


def build() -> typer.Typer:
    """The application with every command of this folder."""
    app = typer.Typer(
        cls=_Stoppable,
        help=_HELP,
        no_args_is_help=False,
        add_completion=True,
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

    for module in modules(__name__):
        if hasattr(module, "register"):
            module.register(app)
    for info in _every_command(app):
        info.cls = _Bounded
    return app


def _every_command(app: typer.Typer) -> Iterator[Any]:
    yield from app.registered_commands
    for group in app.registered_groups:
        if group.typer_instance is not None:
            yield from _every_command(group.typer_instance)


def main() -> None:
    """Run a command; every failure ends in one sentence and an exit code."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    sys.unraisablehook = _quiet_about_ctrl_c
    _open_streams()
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # a second one, while the first was reported
        code = _ended("Stopped.", 130)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # all is done: ignore another one
    if _busy_behind():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _open_streams() -> None:
    """Replace closed streams, and print characters that the encoding lacks as escapes."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115  for good
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _quiet_about_ctrl_c(dropped: Any) -> None:
    """Silence Python's message about a Ctrl-C during a destructor: the run remembers it."""
    if not issubclass(dropped.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(dropped)


def _busy_behind() -> bool:
    """Whether threads of the app may still run torch, which aborts if they are ended."""
    names = ("headscope start", "AnyIO worker thread")
    return any(thread.name.startswith(names) for thread in threading.enumerate())


def run(words: list[str]) -> int:
    """The exit code of a command line: 0, 1 where it failed, 2 for misuse, 130 for Ctrl-C."""
    try:
        with remembered(), plain_warnings():
            try:
                code = build()(args=words, standalone_mode=False) or 0
            except Exception as error:
                if was_asked() and not isinstance(error, typer.Abort):
                    raise KeyboardInterrupt from error  # another library caught it
                raise
        if code == 130 and not isinstance(code, _Told):  # typer exits without a message
            return _ended("Stopped.", 130)
        return int(code)
    except BadInput as error:
        return _ended(str(error), 2)
    except HeadscopeError as error:
        return _ended(str(error), 1)
    except KeyboardInterrupt as stop:
        return _ended(str(stop) or "Stopped.", 130)
    except typer.Abort as error:  # click's error for Ctrl-C, and for a file that ends too soon
        stop = error.__cause__
        if isinstance(stop, EOFError):
            return _ended(f"A file ended too soon ({stop}); it is damaged or only half there.", 1)
        return _ended((str(stop) if stop is not None else "") or "Stopped.", 130)
    except _MISUSE as error:
        return _ended(_misuse(error), 2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if os.environ.get("HEADSCOPE_TRACEBACK"):
            raise
        return _ended(unforeseen(error), 1)


def unforeseen(error: Exception) -> str:
    """An unforeseen error in one sentence."""
    said = " ".join(str(error).split())[:MOST_SAID]
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or said}; look at the file, its folder and the disk."
    if isinstance(error, MemoryError) or "out of memory" in said.lower():
        return "There is not enough memory; give a smaller --limit, --max-tokens or model."
    for name, value in os.environ.items():  # libraries fail when they read their settings there
        if value and name.startswith(_SETTINGS) and repr(value) in said:
            return f"The environment variable {name} is {value!r}, which fails here; unset it."
    if sys.flags.optimize > 1:
        return "python -OO strips docstrings, which libraries read; run Python without -OO."
    return (
        f"This was not foreseen: {type(error).__name__}{f' ({said})' if said else ''}; set "
        "HEADSCOPE_TRACEBACK=1 to see where it happened, and please report it."
    )


def _misuse(error: Any) -> str:
    said = error.format_message().strip().rstrip(".")
    context = getattr(error, "ctx", None)
    asked = f"{context.command_path if context else 'headscope'} --help."
    return f"{said} See {asked}" if said.endswith("?") else f"{said}; see {asked}"


def _ended(sentence: str, code: int) -> int:
    say_error(sentence)
    return code
