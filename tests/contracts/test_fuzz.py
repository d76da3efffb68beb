"""Whatever is handed over by chance ends in a result or in one sentence of ours.

The quick test tries a few, the slow one as many as the seeds promise. HEADSCOPE_SEED changes them.
Requests to the app are in tests/surfaces/test_attacks.py.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import shutil
import traceback
from collections import Counter
from pathlib import Path

import pytest

import headscope as hs
from headscope import cli
from headscope.cli import console
from tests.contracts import bad_calls, fuzz
from tests.tiny import tiny_scope

SEED = int(os.environ.get("HEADSCOPE_SEED", "26"))


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


def tidied(place: Path) -> None:
    for one in place.iterdir():
        shutil.rmtree(one) if one.is_dir() else one.unlink()


def foreign(error: BaseException) -> str:
    """Where somebody else's error came from."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [one for one in frames if "/headscope/" in one.filename]
    where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
    return f"{where} {type(error).__name__}: {str(error)[:80]}"


SIZES = [pytest.param("few"), pytest.param("many", marks=[pytest.mark.slow])]
COUNTS = {"lines": (60, 2000), "calls": (120, 1500), "files": (60, 1000)}


def count(what: str, size: str) -> int:
    return COUNTS[what][size == "many"]


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("size", SIZES)
def test_command_lines_end_in_a_result_or_a_sentence(size, made, place, monkeypatch) -> None:
    wrong: Counter[str] = Counter()
    for words in fuzz.command_lines(count("lines", size), SEED):
        given = [
            word.format(**made) if "{" in word and "{}" not in word else word for word in words
        ]
        said = io.StringIO()
        monkeypatch.setattr(console.err, "_file", said)  # `file` would pin the stream of now
        monkeypatch.setattr(console.out, "_file", io.StringIO())
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                code = cli.run(given)
        except BaseException as error:
            wrong[f"{foreign(error)} <- {words}"] += 1
            continue
        finally:
            tidied(place)
        sentence = said.getvalue()
        if code not in (0, 1, 2) or "Traceback" in sentence or "not foreseen" in sentence:
            wrong[f"{' '.join(sentence.split())[-160:]} <- {words}"] += 1
    assert not wrong, f"seed {SEED}:\n" + "\n".join(ascii(one) for one in wrong)


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("size", SIZES)
def test_calls_end_in_a_result_or_an_error_of_ours(size, made, place) -> None:
    wrong: Counter[str] = Counter()
    for name, function, given in fuzz.calls(count("calls", size), SEED):
        try:
            function(**given)
        except hs.HeadscopeError:
            pass
        except TypeError as error:
            if "argument" not in str(error):
                wrong[f"{name}: {foreign(error)}"] += 1
        except Exception as error:
            wrong[f"{name}: {foreign(error)}"] += 1
        finally:
            tidied(place)
    assert not wrong, f"seed {SEED}:\n" + "\n".join(sorted(wrong))


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> list[Path]:
    """One file of every kind that headscope writes and opens."""
    folder, scope = tmp_path_factory.mktemp("whole"), tiny_scope("BertForMaskedLM")
    texts = ["the cat sat on the mat", "a dog ran to the house"] * 4
    scope.read("the cat sat").save(folder / "reading.safetensors")
    hs.survey(scope, texts, progress=False).save(folder / "survey.parquet")
    hs.atlas(scope, texts, progress=False).save(folder / "heads.atlas")
    return sorted(folder.iterdir())


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("size", SIZES)
def test_damaged_files_open_unchanged_or_are_refused(size, whole, tmp_path) -> None:
    chance, wrong = random.Random(SEED), Counter[str]()
    for _ in range(count("files", size)):
        source = chance.choice(whole)
        path = tmp_path / source.name
        path.write_bytes(fuzz.damaged(source.read_bytes(), chance))
        try:
            hs.open(path)
        except hs.HeadscopeError:
            pass
        except Exception as error:
            wrong[f"{source.name}: {foreign(error)}"] += 1
    assert not wrong, f"seed {SEED}:\n" + "\n".join(sorted(wrong))
