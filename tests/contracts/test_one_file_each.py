"""A command and an edit mode are one file each: dropped into the folder, they are everywhere."""

from __future__ import annotations

import sys

import pytest
import torch

from headscope import cli
from headscope.edits import modes
from headscope.errors import BadInput
from tests import cli_page

COMMAND = '''"""A command that is thrown away."""

import typer


def register(app: typer.Typer) -> None:
    app.command("throwaway")(throwaway)


def throwaway(count: int = 1) -> None:
    """Say that it was found."""
    typer.echo(f"found {count}")
'''
MODE = '''"""A disabled head attends to the first key alone."""

import torch


def check(weights):
    pass


def instead(call, weights):
    first = torch.zeros_like(call.weights)
    first[..., 0] = 1
    return first
'''


@pytest.fixture
def dropped(tmp_path, monkeypatch):
    """A folder whose files count as part of a package's own."""

    def drop(package, name: str, text: str) -> None:
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
        monkeypatch.delitem(sys.modules, f"{package.__name__}.{name}", raising=False)

    yield drop
    for name in ("headscope.cli.throwaway", "headscope.edits.modes.throwaway"):
        sys.modules.pop(name, None)
    modes.modes.cache_clear()


def test_a_new_command_runs_and_stands_on_the_page_of_commands(dropped, capsys):
    dropped(cli, "throwaway", COMMAND)
    assert cli.run(["throwaway", "--count", "3"]) == 0
    assert capsys.readouterr().out == "found 3\n"
    assert (
        "## headscope throwaway" in cli_page.page() and "Say that it was found." in cli_page.page()
    )
    assert cli.run(["throwaway", "--count", "many"]) == 2


def test_a_new_edit_mode_disables_heads_and_is_named_where_modes_are(dropped, tiny_bert):
    dropped(modes, "throwaway", MODE)
    modes.modes.cache_clear()
    part = tiny_bert.without([(0, 1)], mode="throwaway").read("the cat sat on the mat").part()
    expected = torch.zeros(part.weights(0)[1].shape).numpy()
    expected[:, 0] = 1
    assert (part.weights(0)[1] == expected).all()
    with pytest.raises(BadInput, match="throwaway"):
        tiny_bert.without([(0, 1)], mode="nonsense")


def test_every_mode_and_command_is_in_the_docs():
    from headscope.edits.mode_names import mode_names

    page = cli_page.page()
    assert set(mode_names()) == set(modes.modes()) - {"given"}
    assert all(name in page for name in mode_names())
