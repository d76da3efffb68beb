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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headscope as hs
from headscope import cli
from headscope.cli.shared import console
from headscope.corpus.sample import STORIES
from headscope.grounding.learned import HeadWeights
from tests.contracts import bad_calls, fuzz
from tests.contracts.made_results import made_results
from tests.models.tiny_gguf import write_llama
from tests.tiny import tiny_model, tiny_scope, tiny_tokenizer

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


QUICK = {"lines": 60, "calls": 120, "files": 60, "given files": 30}
PORTION = {"lines": 200, "calls": 200, "files": 120, "given files": 120}
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
def whole(tmp_path_factory, results) -> dict[Path, Any]:
    """One file of every kind that headscope writes and opens, and the numbers in it."""
    folder, scope = tmp_path_factory.mktemp("whole"), tiny_scope("GPT2LMHeadModel")
    scope.read("the cat sat").save(folder / "reading.safetensors")
    for name, result in results.items():
        endings = {"Atlas": "atlas", "AtlasComparison": "zip"}
        result.save(folder / f"{name}.{endings.get(name, 'parquet')}")
    labelled = hs.monitor.injected([f"Town {n} has a river. It has {n}." for n in range(6)])
    hs.monitor.fit(scope, labelled, shuffles=1, progress=False).save(folder / "monitor.json")
    rows = ((0.5, -0.25), (0.125, 1.0))
    HeadWeights("m", "f", rows, 0.9, 0.8, 1.0, 0.7, 36, 1.0).save(folder / "weights.json")
    results["Budget"].to_json(folder / "budget.json")
    results["FoundHeads"].to_json(folder / "heads.json")
    results["Edges"].to_json(folder / "circuit.json")
    hs.circuits.trace(scope, "the cat sat on the").save(folder / "trace.json")
    return {path: numbers(path) for path in sorted(folder.iterdir())}


def numbers(path: Path) -> Any:
    """Everything in a file; an atlas reads a table when it is asked for."""
    found = hs.open(path)
    if isinstance(found, hs.Reading):
        return found.tokens, found.attention.values.tobytes()
    if isinstance(found, hs.Atlas):
        return [found.frame(name).to_json() for name in found.names]
    if isinstance(found, hs.results.HeadResult):
        return found.table.to_json()
    return repr(found)


def try_files(
    what: str, portion: int, files: dict[Path, Any], of: Callable[[Path], Any], place: Path
) -> None:
    """Each kind in turn, damaged by chance; `files` says what a file holds, where that is known."""
    tried, seed = of_portion(what, portion)
    chance, wrong, ended = random.Random(seed), Counter[str](), Counter[str]()
    for at in range(tried):
        source = list(files)[at % len(files)]
        path = place / source.name
        path.write_bytes(fuzz.damaged(source.read_bytes(), chance))
        try:
            found = of(path)
        except hs.HeadscopeError:
            ended["refused"] += 1
        except Exception as error:
            wrong[f"{source.name}: {foreign(error)}"] += 1
        else:
            ended["opened"] += 1
            if files[source] is not None and found != files[source]:
                wrong[f"{source.name}: opens with other numbers"] += 1
    report(what, portion, ended, wrong)


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("portion", PORTIONS)
def test_damaged_files_open_unchanged_or_are_refused(portion, whole, tmp_path) -> None:
    try_files("files", portion, whole, numbers, tmp_path)


# files of other programs, which have no checksum: read somehow, or refused in a sentence


@pytest.fixture(scope="module")
def given(tmp_path_factory) -> tuple[dict[Path, None], Path]:
    """One file of every kind that headscope reads and does not write."""
    folder, sources = tmp_path_factory.mktemp("given"), tmp_path_factory.mktemp("sources")
    write_llama(folder / "tiny.gguf", sentencepiece=True, add_bos=True)
    for kind in ("BertForMaskedLM", "adapter"):
        model = tiny_model("BertForMaskedLM")
        if kind == "adapter":
            peft = pytest.importorskip("peft")
            settings = peft.LoraConfig(target_modules=["query"], init_lora_weights=False)
            model = peft.get_peft_model(model, settings)
            model.peft_config["default"].base_model_name_or_path = str(sources / "BertForMaskedLM")
        else:
            tiny_tokenizer().save_pretrained(sources / kind)
        model.save_pretrained(sources / kind)
        for one in (sources / kind).iterdir():
            if one.suffix in (".json", ".safetensors"):
                (folder / f"{kind}={one.name}").write_bytes(one.read_bytes())
    for ending, text in CORPORA.items():
        (folder / f"corpus.{ending}").write_text(text)
    shutil.copy(STORIES, folder / "trees.conllu")
    return dict.fromkeys(sorted(folder.iterdir())), sources


CORPORA = {
    "txt": "the cat sat on the mat .\n" * 3,
    "csv": "text,label\nthe cat,a\na dog,b\n" * 2,
    "tsv": "text\tlabel\nthe cat\ta\na dog\tb\n",
    "jsonl": '{"text": "the cat sat", "pairs": [[[8, 11], [4, 7]]]}\n' * 8,
}


def read_somehow(path: Path, sources: Path) -> None:
    """A model's file in its folder, or a corpus."""
    scope = tiny_scope("BertForMaskedLM")
    kind, _, name = path.name.partition("=")
    if path.suffix == ".gguf":
        hs.load(path).read("a cat")
    elif name:
        folder = path.with_name("model")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(sources / kind, folder)
        path.replace(folder / name)
        hs.load(folder).read("the cat")
    elif path.suffix == ".conllu":
        hs.probe.dependency(scope, path, minimum=1, progress=False)
    else:
        hs.survey(scope, path, ["entropy"], limit=2, progress=False)
        if path.suffix == ".jsonl":
            hs.find_heads(scope, path, most_heads=1, progress=False)


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("portion", PORTIONS)
def test_damaged_files_of_others_are_read_or_refused_in_a_sentence(portion, given, tmp_path):
    files, sources = given
    try_files("given files", portion, files, lambda path: read_somehow(path, sources), tmp_path)
