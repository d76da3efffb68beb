"""Ctrl-C in every long command: exit code 130, a sentence, and the next run ends it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from headscope import cli
from headscope.runs.run import Run
from tests.runs.commands import COMMANDS, make_work
from tests.runs.kinds import SMALL_STEPS

ROOT = Path(__file__).parents[2]
SEED = int(os.environ.get("HEADSCOPE_SEED", "0"))


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return make_work(tmp_path_factory.mktemp("work"))


@pytest.fixture(autouse=True)
def place(work, tmp_path, monkeypatch):
    for path in work.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    for name, value in SMALL_STEPS.items():
        monkeypatch.setattr(name, value)
    return tmp_path


def made(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.is_symlink()}


@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_exits_130_with_a_sentence_and_the_same_command_ends_it(
    name, place, capsys, monkeypatch
):
    words = list(COMMANDS[name])
    output = words[words.index("-o") + 1]
    print(f"HEADSCOPE_SEED={SEED}")
    tell, left = Run.tell, random.Random(f"{SEED} {name}").randint(2, 4)

    def stopping(self, *given, **named):
        nonlocal left
        tell(self, *given, **named)
        left -= 1
        if left == 0:
            raise KeyboardInterrupt

    with monkeypatch.context() as stop:
        stop.setattr(Run, "tell", stopping)
        assert cli.run(words) == 130
    said = " ".join(capsys.readouterr().err.split())
    assert f"Stopped; what was done is kept in {output}.partial. Run the same command" in said
    assert f"{output}.partial" in made(place)
    assert cli.run(words) == 0
    assert output in made(place) and not any(one.endswith(".partial") for one in made(place))


@pytest.mark.parametrize("name", COMMANDS)
def test_another_model_under_the_same_name_is_refused(name, place, work, capsys, monkeypatch):
    """`checkpoint-500` of one training, stopped; `checkpoint-500` of another, started."""
    words = list(COMMANDS[name])
    tell = Run.tell

    def stopping(self, *given, **named):
        tell(self, *given, **named)
        if any(one.endswith(".partial") for one in made(place)):
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as stop:
        stop.setattr(Run, "tell", stopping)
        assert cli.run(words) == 130
    model = "task" if name == "ablate" else "words"
    (place / model).unlink()
    (place / model).symlink_to(work / f"{model}-other")
    capsys.readouterr()
    assert cli.run(words) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "started with another" in said and "model" in said and "--restart" in said
    assert cli.run([*words, "--restart"]) == 0


def test_a_real_ctrl_c_of_a_real_process(place):
    """From the outside, at a random moment: code 130, one sentence, no traceback."""
    words = [*COMMANDS["survey"][:-2], "-s", "all", "--limit", "48"]
    script = (
        "import sys, time; from headscope.runs.run import Run; tell = Run.tell\n"
        "Run.tell = lambda *a, **k: (tell(*a, **k), print('going', flush=True), time.sleep(9))\n"
        "from headscope.cli import main; main()"
    )
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}", "COLUMNS": "200"}
    process = subprocess.Popen(
        [sys.executable, "-c", script, *words], env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "going\n"
    print(f"HEADSCOPE_SEED={SEED}")
    threading.Timer(
        random.Random(SEED).random(), lambda: process.send_signal(signal.SIGINT)
    ).start()
    begun = time.monotonic()
    _, said = process.communicate(timeout=100)
    assert process.returncode == 130 and time.monotonic() - begun < 60
    assert "Run the same command to resume." in said and "Traceback" not in said
