"""Printing: results on standard output, everything else on standard error."""

from __future__ import annotations

import contextlib
import shlex
import sys
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from headscope.errors import HeadscopeWarning

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from headscope.corpus.bad_data import Faults
    from headscope.reading import Scope

out = Console()
err = Console(stderr=True)


def say_error(sentence: str) -> None:
    err.print(f"[bold red]headscope:[/] {_plain(sentence)}", highlight=False, soft_wrap=True)


def say_written(path: str | Path) -> None:
    """Print where a file was written."""
    err.print(f"Wrote {_plain(str(path))}", highlight=False, soft_wrap=True)


def command_line() -> str:
    """The command as it was typed, for a page that shows how it was made."""
    return shlex.join(["headscope", *sys.argv[1:]])


def open_scope(
    model: str | None,
    device: str | None = None,
    dtype: str | None = None,
    trust_remote_code: bool = False,
) -> Scope:
    """Open a command's scope while a spinner runs."""
    from headscope.reading import load

    with err.status(f"Opening {_plain(model or 'the bundled model')} …"), _quiet_loading():
        return load(model, device=device, dtype=dtype, trust_remote_code=trust_remote_code)


def draw(figure: Figure, path: Path) -> None:
    """Write a figure and print its path."""
    from headscope.figures import save

    save(figure, path)
    say_written(path)


def show_table(table: pd.DataFrame, columns: list[str] | None = None) -> None:
    """A table on standard output, three digits a number."""
    chosen = table if columns is None else table[columns]
    out.print(
        chosen.round(3).to_string(index=False, na_rep="–"),
        highlight=False,
        soft_wrap=True,
        markup=False,
    )


def tested(low: str, high: str, p: float) -> str:
    """The interval and the corrected p of a difference, or why there are none."""
    if p != p:
        return "(too few for an interval or a p-value)"
    return f"[{low}, {high}], corrected p {p:.3f}"


@contextlib.contextmanager
def plain_warnings() -> Generator[None]:
    """Our own warnings as a line on standard error, once each, without file and line."""
    with warnings.catch_warnings():
        whole, said = warnings.showwarning, set[str]()

        def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
            if not issubclass(category, HeadscopeWarning):
                whole(message, category, *where)
            elif str(message) not in said:
                said.add(str(message))
                err.print(str(message), markup=False, highlight=False, soft_wrap=True)

        warnings.simplefilter("always", HeadscopeWarning)
        warnings.showwarning = show
        yield


def say_faults(faults: Faults) -> None:
    """Print what was left out of the data, if anything."""
    if len(faults):
        err.print(faults.summary(), highlight=False, markup=False, soft_wrap=True)


@contextlib.contextmanager
def _quiet_loading() -> Generator[None]:
    """Silence the library's own progress bars."""
    from transformers.utils import logging

    was_on = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_on:
            logging.enable_progress_bar()


def _plain(text: str) -> str:
    """Text from outside, printed literally and not as markup."""
    from rich.markup import escape

    return escape(text)
