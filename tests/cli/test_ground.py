"""`headscope ground` prints verdicts and writes a page, a figure or numbers."""

from __future__ import annotations

import json

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
        (("-q", "who ?", "-o", "x.docx"), "is written as"),
        (("--log", __file__), "name it with -o"),
    ],
)
def test_misuse_is_told_before_a_model_opens(arguments, sentence, capsys):
    assert run(["ground", *map(str, arguments)]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())
