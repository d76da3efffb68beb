"""How commands speak: results on standard output, everything else on standard error."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

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
    """Every command that writes a file says where it put it."""
    err.print(f"Wrote {_plain(str(path))}", highlight=False, soft_wrap=True)


def open_scope(
    model: str | None,
    device: str | None = None,
    dtype: str | None = None,
    trust_remote_code: bool = False,
) -> Scope:
    """The scope a command works on, opened under a sign of life."""
    from headscope.reading import load

    with err.status(f"Opening {_plain(model or 'the bundled model')} …"), _quiet_loading():
        return load(model, device=device, dtype=dtype, trust_remote_code=trust_remote_code)


def draw(figure: Figure, path: Path) -> None:
    """Write a figure and say where."""
    from headscope.figures import save

    save(figure, path)
    say_written(path)


def show_table(table: pd.DataFrame, columns: list[str] | None = None) -> None:
    """A table on standard output, three digits a number."""
    chosen = table if columns is None else table[columns]
    out.print(chosen.round(3).to_string(index=False), highlight=False, soft_wrap=True, markup=False)


def say_faults(faults: Faults) -> None:
    """What was left out of the data, if anything was."""
    if len(faults):
        err.print(faults.summary(), highlight=False, markup=False, soft_wrap=True)


@contextlib.contextmanager
def _quiet_loading() -> Generator[None]:
    """The library's own bars would cut through ours."""
    from transformers.utils import logging

    was_on = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_on:
            logging.enable_progress_bar()


def _plain(text: str) -> str:
    """Text from outside is shown as it is, never read as markup."""
    from rich.markup import escape

    return escape(text)
