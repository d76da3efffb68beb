"""A command, an edit mode and a treebank format are one file each: dropped into the folder, they
are everywhere."""

from __future__ import annotations

import gzip
import sys

import pytest
import torch

import headscope as hs
from headscope import cli
from headscope.corpus import treebanks
from headscope.corpus.bad_data import Faults
from headscope.corpus.text.documents import Reader
from headscope.corpus.text.sharding import shards_of
from headscope.corpus.treebanks.treebank import Treebank, formats
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
FORMAT = '''"""Trees with a line a sentence: word/governor/relation, counted from 1."""

from headscope.corpus.treebanks.conllu import Sentence

ENDINGS = (".throwaway",)


def sentences(name, lines, faults):
    for number, line in enumerate(lines, 1):
        cells = [cell.split("/") for cell in line.split()]
        empty = ("",) * len(cells)
        yield Sentence(
            words=tuple(cell[0] for cell in cells),
            heads=tuple(int(cell[1]) - 1 for cell in cells),
            relations=tuple(cell[2] for cell in cells),
            upos=empty, xpos=empty, features=empty, misc=empty,
            lines=(number,) * len(cells),
            where=f"{name}:{number}",
        )
'''
TREES = "the/2/det cat/3/nsubj sat/0/root\nthe/2/det dog/3/nsubj ran/0/root\n"


@pytest.fixture
def dropped(tmp_path, monkeypatch):
    """A folder whose files count as part of a package's own."""

    def drop(package, name: str, text: str) -> None:
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
        monkeypatch.delitem(sys.modules, f"{package.__name__}.{name}", raising=False)

    yield drop
    for package in (cli, modes, treebanks):
        sys.modules.pop(f"{package.__name__}.throwaway", None)
    formats.cache_clear()


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
    part = tiny_bert.without([(0, 1)], mode="throwaway").read("the cat sat on the mat").part()
    expected = torch.zeros(part.weights(0)[1].shape).numpy()
    expected[:, 0] = 1
    assert (part.weights(0)[1] == expected).all()
    with pytest.raises(BadInput, match="throwaway"):
        tiny_bert.without([(0, 1)], mode="nonsense")


def test_a_new_treebank_format_is_read_wherever_trees_and_their_text_are(
    dropped, tiny_bert, tmp_path
):
    dropped(treebanks, "throwaway", FORMAT)
    formats.cache_clear()
    folder = tmp_path / "bank"
    folder.mkdir()
    (folder / "one.throwaway").write_text(TREES)
    with gzip.open(folder / "two.throwaway.gz", "wt") as packed:
        packed.write(TREES)
    found = list(Treebank(folder))
    assert [sentence.words for sentence in found[:2]] == [
        ("the", "cat", "sat"),
        ("the", "dog", "ran"),
    ]
    assert len(found) == 4 and found[0].heads == (1, 2, -1)
    read = [document.text for document in Reader().documents(folder, Faults())]
    assert read == ["the cat sat the dog ran"] * 2
    assert shards_of(folder / "one.throwaway", Reader(), part=8) is None  # a tree is never cut
    result = hs.probe.dependency(tiny_bert, folder, minimum=1, progress=False)
    assert set(result.summary["relation"]) >= {"det", "nsubj"}


def test_two_treebank_formats_never_share_an_ending(dropped):
    dropped(treebanks, "throwaway", FORMAT.replace(".throwaway", ".conllu"))
    formats.cache_clear()
    with pytest.raises(ValueError, match=r"Two endings of treebanks are called \'\.conllu\'"):
        formats()


def test_every_mode_and_command_is_in_the_docs():
    page = cli_page.page()
    assert all(name in page for name in modes.modes() if name != "given")
