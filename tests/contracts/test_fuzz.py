"""Whatever is handed over by chance ends in a result or in one sentence of ours.

The quick test tries a few; the slow ones are ten portions, each with a seed of its own, which
print what they tried. HEADSCOPE_SEED changes them all.
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
from typing import Any

import pytest

import headscope as hs
from headscope import cli
from headscope.cli.shared import console
from tests.contracts import bad_calls, fuzz
from tests.contracts.made_results import made_results
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


QUICK = {"lines": 60, "calls": 120, "files": 60}
PORTION = {"lines": 200, "calls": 200, "files": 120}
PORTIONS = [0, *(pytest.param(one, marks=[pytest.mark.slow]) for one in range(1, 11))]


def of_portion(what: str, portion: int) -> tuple[int, int]:
    """How many are tried, and the seed they come from."""
    return (PORTION if portion else QUICK)[what], SEED + portion


def report(what: str, portion: int, ended: Counter[str], wrong: Counter[str]) -> None:
    """Prints what a portion tried; fails with each thing that was wrong."""
    tried, seed = of_portion(what, portion)
    shares = ", ".join(f"{number} {name}" for name, number in sorted(ended.items()))
    print(f"{what}, seed {seed}: {tried} tried: {shares}; {wrong.total()} wrong")
    assert not wrong, f"seed {seed}:\n" + "\n".join(ascii(one) for one in sorted(wrong))


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("portion", PORTIONS)
def test_command_lines_end_in_a_result_or_a_sentence(portion, made, place, monkeypatch) -> None:
    wrong, ended = Counter[str](), Counter[str]()
    for words in fuzz.command_lines(*of_portion("lines", portion)):
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
        ended["answers" if code == 0 else "sentences"] += 1
    report("lines", portion, ended, wrong)


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[str, hs.results.HeadResult]:
    return made_results(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def known(results) -> fuzz.Known:
    """Every public function and every method of what they answer with."""
    from tests.contracts.bad_python import bert, reading, writer

    view = hs.head_view(reading())
    objects = {**results, "Scope": bert(), "writer": writer(), "Reading": reading(), "View": view}
    return {**fuzz.front_door(), **fuzz.methods(objects)}


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("portion", PORTIONS)
def test_calls_end_in_a_result_or_an_error_of_ours(portion, known, place) -> None:
    wrong, ended = Counter[str](), Counter[str]()
    for name, function, given in fuzz.calls(known, *of_portion("calls", portion)):
        try:
            function(**given)
            ended["answers"] += 1
        except hs.HeadscopeError as error:
            ended["sentences"] += 1
            if not str(error).endswith((".", "?")):
                wrong[f"{name}: {error}"] += 1
        except Exception as error:
            wrong[f"{name}: {foreign(error)}"] += 1
        finally:
            tidied(place)
    report("calls", portion, ended, wrong)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> dict[Path, Any]:
    """One file of every kind that headscope writes and opens, and the numbers in it."""
    folder, scope = tmp_path_factory.mktemp("whole"), tiny_scope("BertForMaskedLM")
    texts = ["the cat sat on the mat", "a dog ran to the house"] * 4
    scope.read("the cat sat").save(folder / "reading.safetensors")
    hs.survey(scope, texts, progress=False).save(folder / "survey.parquet")
    hs.atlas(scope, texts, progress=False).save(folder / "heads.atlas")
    return {path: numbers(path) for path in sorted(folder.iterdir())}


def numbers(path: Path) -> Any:
    """Everything in a file; an atlas reads a table when it is asked for."""
    found = hs.open(path)
    if isinstance(found, hs.Reading):
        return found.tokens, found.attention.values.tobytes()
    if isinstance(found, hs.Atlas):
        return [found.frame(name).to_json() for name in found.names]
    return found.table.to_json()


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("portion", PORTIONS)
def test_damaged_files_open_unchanged_or_are_refused(portion, whole, tmp_path) -> None:
    tried, seed = of_portion("files", portion)
    chance, wrong, ended = random.Random(seed), Counter[str](), Counter[str]()
    for _ in range(tried):
        source = chance.choice(list(whole))
        path = tmp_path / source.name
        path.write_bytes(fuzz.damaged(source.read_bytes(), chance))
        try:
            if numbers(path) != whole[source]:
                wrong[f"{source.name}: opens with other numbers"] += 1
            ended["opened"] += 1
        except hs.HeadscopeError:
            ended["refused"] += 1
        except Exception as error:
            wrong[f"{source.name}: {foreign(error)}"] += 1
    report("files", portion, ended, wrong)
