"""Long commands that are killed, stopped, starved of disk, or started twice lose nothing."""

from __future__ import annotations

import copy
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from headscope import cli
from headscope.edits import answers
from headscope.finetuning import change, compare
from headscope.runs import part
from headscope.runs.run import only_writer
from tests.finetuning.test_finetune import colours
from tests.tiny import tiny_model, tiny_tokenizer

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A model before and after a change, texts both read, and a task for the second."""
    folder = tmp_path_factory.mktemp("work")
    before = tiny_model("BertForSequenceClassification")
    after = copy.deepcopy(before)
    torch.manual_seed(4)
    with torch.no_grad():
        weight = after.bert.encoder.layer[1].attention.self.key.weight
        weight += 0.3 * torch.randn_like(weight)
    for name, model in (("before", before), ("after", after)):
        model.save_pretrained(folder / name)
        tiny_tokenizer().save_pretrained(folder / name)
    task = colours(150, 3)
    rows = [f"{t}\t{task.classes[n]}" for t, n in zip(task.texts, task.labels, strict=True)]
    (folder / "task.tsv").write_text("\n".join(["text\tlabel", *rows]))
    (folder / "texts.txt").write_text("\n".join(task.texts))
    return folder


@pytest.fixture
def place(work, tmp_path, monkeypatch):
    """A folder with copies that a test may change; commands are run in it."""
    for name in ("task.tsv", "texts.txt"):
        (tmp_path / name).write_text((work / name).read_text())
    for name in ("before", "after"):
        (tmp_path / name).symlink_to(work / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


COMPARE = ["compare", "before", "after", "texts.txt", "-o", "c.csv"]
ABLATE = ["ablate", "task.tsv", "--model", "after", "-o", "a.csv", "--batch-size", "8"]


def run(monkeypatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["headscope", *words])
    with pytest.raises(SystemExit) as left:
        cli.main()
    return int(left.value.code or 0)


def made(folder: Path) -> dict[str, bytes]:
    """Every file but those the test began with."""
    given = {"task.tsv", "texts.txt", "before", "after"}
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in given
    }


def counting(monkeypatch, module, name: str) -> list[int]:
    whole, calls = getattr(module, name), []

    def counted(*given, **named):
        calls.append(1)
        return whole(*given, **named)

    monkeypatch.setattr(module, name, counted)
    return calls


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        pytest.param(  # while the maps are compared
            COMPARE, "c.csv.partial/change.npz", marks=pytest.mark.slow
        ),
        pytest.param(  # the first is surveyed
            COMPARE, "c.csv.partial/before.parquet.partial/counts.npz", marks=pytest.mark.slow
        ),
        pytest.param(  # the first is done
            COMPARE, "c.csv.partial/after.parquet.partial/counts.npz", marks=pytest.mark.slow
        ),
        (ABLATE, "a.csv.partial/answers.npz"),
    ],
)
def test_a_run_killed_at_any_moment_goes_on_to_the_same_tables(place, monkeypatch, words, seen):
    assert run(monkeypatch, *words) == 0
    whole = made(place)
    for name in whole:
        (place / name).unlink()
    command = [sys.executable, str(HERE / "killed.py"), seen, *words]
    root = {**os.environ, "PYTHONPATH": f"{HERE.parents[1]}/src:{HERE.parents[1]}"}
    process = subprocess.Popen(command, env=root)
    deadline = time.monotonic() + 200
    while not (place / seen).exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    seed = int(os.environ.get("HEADSCOPE_SEED", "0"))
    print(f"HEADSCOPE_SEED={seed}")
    time.sleep(random.Random(seed).random() * 0.3)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (place / words[words.index("-o") + 1]).exists(), "it was to be killed before its end"
    compared = counting(monkeypatch, change, "with_batch")
    surveyed = counting(monkeypatch, compare, "survey")
    swept = counting(monkeypatch, answers, "_sweep_batch")
    assert run(monkeypatch, *words) == 0
    if words is ABLATE:
        assert 0 < len(swept) < 19, "the run started anew"
    else:
        assert (len(compared) < 10) and (bool(compared) == ("change" in seen))
        assert len(surveyed) == (1 if "after" in seen else 2)
    assert made(place) == whole  # to the bit, and nothing else is left


def stop_after(monkeypatch, module, name: str, calls: int) -> None:
    """Ctrl-C during the call after so many of them."""
    whole, count = getattr(module, name), 0

    def counted(*given, **named):
        nonlocal count
        count += 1
        if count > calls:
            raise KeyboardInterrupt
        return whole(*given, **named)

    monkeypatch.setattr(module, name, counted)


STOPS = [
    (COMPARE, change, "with_batch"),
    (ABLATE, answers, "_sweep_batch"),
]


@pytest.mark.parametrize(("words", "module", "name"), STOPS)
def test_ctrl_c_says_how_to_go_on_and_changed_runs_are_refused(
    place, monkeypatch, capsys, words, module, name
):
    assert run(monkeypatch, *words) == 0
    whole = made(place)
    for left in whole:
        (place / left).unlink()
    with monkeypatch.context() as stopping:
        stop_after(stopping, module, name, 3)
        assert run(stopping, *words) == 130
    assert "Run the same command to resume." in " ".join(capsys.readouterr().err.split())
    kept = made(place)
    output = words[words.index("-o") + 1]
    assert {Path(name).parts[0] for name in kept} == {f"{output}.partial"}

    def refused(*more: str) -> str:
        assert run(monkeypatch, *words, *more) == 2
        assert made(place) == kept  # a refusal harms nothing
        return " ".join(capsys.readouterr().err.split())

    other = ("--mode", "zero") if words is ABLATE else ("--max-tokens", "9")
    assert "started with other settings;" in refused(*other)
    data = place / words[1 if words is ABLATE else 3]
    text = data.read_text()
    data.write_text(text.replace("\n", "\nthe ", 1))
    assert f"started with another {'task' if words is ABLATE else 'corpus'};" in refused()
    data.write_text(text)
    with monkeypatch.context() as watching:
        calls = counting(watching, module, name)
        assert run(watching, *words) == 0
    assert len(calls) == (19 if words is ABLATE else 10) - 3
    assert made(place) == whole


@pytest.mark.parametrize(("words", "module", "name"), STOPS)
def test_a_run_may_start_anew(place, monkeypatch, words, module, name):
    assert run(monkeypatch, *words) == 0
    whole = made(place)
    with monkeypatch.context() as stopping:
        stop_after(stopping, module, name, 3)
        assert run(stopping, *words, "--max-tokens", "9") == 130
    assert run(monkeypatch, *words, "--restart") == 0
    assert made(place) == whole


def test_stopping_in_a_survey_stops_the_comparison(place, monkeypatch):
    with monkeypatch.context() as stopping:
        stop_after(stopping, compare, "survey", 1)
        assert run(stopping, *COMPARE) == 130
    assert not (place / "c.csv").exists()
    assert (place / "c.csv.partial" / "before.parquet").exists()
    # without what says whose it is, a survey that was left behind is not trusted
    (place / "c.csv.partial" / "run.json").unlink()
    surveyed = counting(monkeypatch, compare, "survey")
    assert run(monkeypatch, *COMPARE) == 0
    assert len(surveyed) == 2 and set(made(place)) == {"c.csv", "c-statistics.csv"}


@pytest.mark.parametrize("words", [COMPARE, ABLATE])
def test_two_runs_of_one_output_are_told_apart(place, monkeypatch, capsys, words):
    with only_writer(Path(words[words.index("-o") + 1])):
        assert run(monkeypatch, *words) == 1
    assert "Another run is writing" in " ".join(capsys.readouterr().err.split())
    assert made(place) == {}


@pytest.mark.parametrize("words", [COMPARE, ABLATE])
def test_a_full_disk_is_one_sentence_and_harms_nothing(place, monkeypatch, capsys, words):
    output = place / words[words.index("-o") + 1]
    output.write_bytes(b"older")
    monkeypatch.setattr(part, "KEEP_EVERY", -1.0)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # as a full disk: an error, no signal
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, hard))
        assert run(monkeypatch, *words) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    said = capsys.readouterr().err
    assert "could not be written" in " ".join(said.split()) and "Traceback" not in said
    assert output.read_bytes() == b"older" and set(made(place)) == {output.name}
