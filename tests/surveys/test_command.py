"""`headscope survey` as a user types it."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import headscope as hs
from headscope.cli import build
from headscope.errors import BadInput
from headscope.statistics import discover
from tests.tiny import tiny_scope


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    scope = tiny_scope("BertForPreTraining")
    scope.model.save_pretrained(path)
    scope.tokenizer.save_pretrained(path)
    return path


def run(*arguments, **options):
    return CliRunner().invoke(build(), ["survey", *map(str, arguments)], **options)


def test_a_corpus_becomes_a_table_and_the_command_says_where(folder, tmp_path):
    corpus, output = tmp_path / "c.txt", tmp_path / "s.parquet"
    corpus.write_text("the cat sat on the mat .\nthe dog ran , and he ran .\n" + "cat " * 200)
    wanted = ("-s", "entropy", "-s", "previous_word", "--segments", "documents")
    done = run(corpus, "-m", folder, "-o", output, *wanted)
    assert done.exit_code == 0, done.output
    assert f"Wrote {output}" in done.output.replace("\n", "")
    assert "3 segments" in done.output and "1 text was longer" in done.output
    found = hs.Survey.load(output)
    assert found.statistics == ("entropy", "previous_word")
    assert found.table["count"].max() == 3


def test_a_pipe_is_read_and_pairs_are_made(folder, tmp_path):
    text = " ".join(["The cat sat on the mat. He ran to the red house."] * 20)
    output = tmp_path / "s.csv"
    done = run("-", "-m", folder, "-o", output, "--segments", "pairs", "--limit", 2, input=text)
    assert done.exit_code == 0, done.output
    assert "2 segments" in done.output and "sep_sep" in output.read_text()


def test_the_list_holds_every_statistic():
    said = run("--list").output
    assert all(f" {name}  (" in said for name in discover() if ":" not in name)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Give a corpus"),
        (["c.txt"], "Give a corpus"),
        (["c.txt", "-o", "s.xlsx"], r"\.parquet or \.csv"),
    ],
)
def test_misuse_is_told_before_a_model_is_opened(arguments, sentence):
    done = run(*arguments)
    assert isinstance(done.exception, BadInput)
    with pytest.raises(BadInput, match=sentence):
        raise done.exception


def test_stopping_says_how_to_go_on(folder, tmp_path, monkeypatch):
    corpus = tmp_path / "c.txt"
    corpus.write_text("the cat sat .\n" * 200)
    from headscope.surveys.corpus import Cutter

    real, count = Cutter.prepared, iter(range(9))

    def stops(*arguments):
        if next(count) == 2:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(Cutter, "prepared", stops)
    done = run(corpus, "-m", folder, "-o", tmp_path / "s.parquet", "-s", "entropy")
    assert done.exit_code == 130 and "Run the same command to resume" in done.output
    assert not (tmp_path / "s.parquet").exists()
    done = run(corpus, "-m", folder, "-o", tmp_path / "s.parquet", "-s", "entropy")
    assert done.exit_code == 0 and hs.Survey.load(tmp_path / "s.parquet").complete
