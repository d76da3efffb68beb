"""Whatever a user hands over: a sentence and an exit code, never a traceback or half a file."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import headscope as hs
from headscope import cli
from tests.contracts import bad_calls
from tests.contracts.bad_python import calls
from tests.tiny import tiny_scope

LINES = list(bad_calls.command_lines())


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> dict[str, str]:
    return bad_calls.files(tmp_path_factory.mktemp("files"), tiny_scope("BertForMaskedLM"))


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """An empty folder to stand in; the model without a name is a tiny one."""
    small, whole = tiny_scope("BertForMaskedLM"), hs.load

    def load(model=None, *given, **options):
        if model is None and options.get("device") is None and options.get("dtype") is None:
            return small
        return whole(model, *given, **options)

    monkeypatch.setattr("headscope.reading.load", load)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(words: list[str]) -> str:
    return " ".join(word if len(word) < 40 else f"{word[:20]}…" for word in words)


@pytest.mark.parametrize("words", random.Random(1).sample(LINES, 190), ids=shown)
def test_a_bad_command_ends_in_one_sentence(words, made, place, capsys):
    code = cli.run(
        [word.format(**made) if word.startswith(("{", "--")) else word for word in words]
    )
    said = capsys.readouterr().err
    assert code in (1, 2, 130), said
    assert said.count("headscope: ") == 1 and "Traceback" not in said, said
    sentence = said[said.index("headscope: ") :].strip()
    assert len(sentence) > 20 and "not foreseen" not in sentence
    assert sentence.endswith((".", "?")) and "\n\n" not in sentence
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("name,call", calls(), ids=lambda given: given if given is str else None)
def test_a_bad_call_ends_in_one_of_our_sentences(name, call, made, place):
    with pytest.raises((hs.HeadscopeError, TypeError)) as caught:
        call(made)
    if isinstance(caught.value, TypeError):  # Python's own: a missing or an unknown argument
        assert "argument" in str(caught.value)
    assert len(str(caught.value)) > 15
    assert list(place.iterdir()) == []


def test_a_pipe_that_would_be_read_twice_is_refused(capsys):
    """`patterns - --predictive` would find its second reading empty."""
    from headscope import cli

    assert cli.run(["patterns", "-", "--predictive", "4"]) == 2
    assert "save the corpus to a file" in " ".join(capsys.readouterr().err.split())


def test_a_corpus_that_every_checkpoint_would_read_is_refused_where_it_can_be_read_once(made):
    once = (text for text in ("the cat sat .", "a dog ran ."))
    with pytest.raises(hs.HeadscopeError, match="can be read only once"):
        hs.over_checkpoints([made["model"]] * 2, once, progress=False)


@pytest.mark.parametrize("name", ["monitor fit", "monitor score", "ground"])
def test_a_log_that_is_no_text_is_refused(name, made, place, capsys):
    words = [*name.split(), *bad_calls.SOUND[name]]
    words = ["ground", "--log", "{binary}", "-o", "o.csv"] if name == "ground" else words
    given = ["{binary}" if word == "{labelled}" else word for word in words]
    assert cli.run([word.format(**made) for word in given]) == 2
    assert "binary.txt" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("name", ["edges", "patch", "probe atoms"])
def test_a_seed_is_checked_where_the_option_is(name, made, place, capsys):
    words = [*name.split(), *bad_calls.SOUND[name], "--seed=-1"]
    assert cli.run([word.format(**made) for word in words]) == 2
    assert "A seed is a whole number from 0" in capsys.readouterr().err
