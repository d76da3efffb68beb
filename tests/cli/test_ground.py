"""`headscope ground` prints verdicts and writes a page, a figure or numbers."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

import headscope as hs
from headscope.cli import build, run
from tests.reading.test_conversation import scope_with
from tests.text.test_chat import TEMPLATES

HOSTILE = "a cat </script><script>alert(1)</script> sat ."


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("model")
    scope = scope_with(TEMPLATES["chatml"])
    scope.model.save_pretrained(folder)
    scope.tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "a.md").write_text(HOSTILE)
    (tmp_path / "b.md").write_text("one two three .")
    return tmp_path


def call(*arguments: object):
    return CliRunner().invoke(build(), ["ground", *map(str, arguments)])


def test_a_question_over_files_makes_a_page_and_numbers(model, texts):
    given = ("-m", model, "-d", texts / "a.md", "-d", texts / "b.md", "-q", "the cat ?")
    said = call(*given, "--answer", "a cat ran . two", "-o", texts / "out.html")
    assert said.exit_code == 0, said.output
    assert "a cat ran ." in said.output and "a.md" in said.output
    page = (texts / "out.html").read_text()
    assert "<script>alert" not in page
    assert call(*given, "--answer", "a cat", "-o", texts / "out.parquet").exit_code == 0
    assert hs.open(texts / "out.parquet").titles == ("a.md", "b.md")
    assert call(*given, "--answer", "a cat", "-o", texts / "out.svg").exit_code == 0


def test_documents_come_as_the_shell_expands_them_and_numbers_as_tables(model, texts):
    given = ("-m", model, "--document", texts / "a.md", texts / "b.md", "--question", "the cat ?")
    said = call(*given, "--answer", "a cat ran .", "-o", texts / "out.csv")
    assert said.exit_code == 0, said.output
    assert {"a.md", "b.md"} == set(pd.read_csv(texts / "out.csv")["source"])
    assert "verdict" in pd.read_csv(texts / "out-support.csv")
    assert "knockout" in set(pd.read_csv(texts / "out-heads.csv")["measure"])


def test_a_view_shows_a_question_about_documents(model, texts):
    given = ("view", "the cat ?", "-m", model, "-d", texts / "a.md", "-d", texts / "b.md")
    out = texts / "reading.safetensors"
    assert run([str(one) for one in (*given, "--answer", "a cat", "-o", out)]) == 0
    assert {"a.md", "b.md", "user 1", "answer"} <= {one.name for one in hs.open(out).spans}
    assert run([str(one) for one in (*given, "--generate", 3, "-o", out)]) == 0
    assert "answer" in {one.name for one in hs.open(out).spans}
    assert run([str(one) for one in (*given, texts / "a.md")]) == 2


def test_a_conversation_comes_from_json(model, texts):
    request = {
        "messages": [{"role": "user", "content": "the cat ?"}],
        "documents": ["a dog ran ."],
        "answer": "a dog",
    }
    (texts / "chat.json").write_text(json.dumps(request))
    said = call("-m", model, "--messages", texts / "chat.json", "-d", texts / "b.md")
    assert said.exit_code == 0, said.output
    assert "a dog" in said.output and "b.md" in said.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "Give a question"),
        (("-q", "who ?", "-d", "nowhere.txt"), "no file or folder nowhere.txt"),
        (("-q", "who ?", "-d", "."), ". is a folder"),
        (("-q", "who ?", "-o", "x.docx"), "is written as"),
        (("--log", __file__), "name it with -o"),
    ],
)
def test_misuse_is_told_before_a_model_opens(arguments, sentence, capsys):
    assert run(["ground", *map(str, arguments)]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())
