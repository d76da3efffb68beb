"""Nothing in a model's folder runs as code unless the caller says so."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import headscope as hs
from headscope import cli
from headscope.errors import BadInput, HeadscopeError
from headscope.finetuning.finetune import PROTOCOL, new_classifier
from tests.tiny import tiny_model, tiny_tokenizer

CODE = """
from pathlib import Path
from transformers import BertConfig, BertForMaskedLM
Path({flag!r}).touch()

class OwnConfig(BertConfig):
    model_type = "own-bert"

class OwnModel(BertForMaskedLM):
    config_class = OwnConfig
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model whose class is in a Python file beside it; importing that file leaves a trace."""
    path = tmp_path / "own"
    tiny_model("BertForMaskedLM").save_pretrained(path)
    tiny_tokenizer().save_pretrained(path)
    (path / "own.py").write_text(CODE.format(flag=str(tmp_path / "ran")))
    configuration = json.loads((path / "config.json").read_text())
    configuration |= {
        "model_type": "own-bert",
        "architectures": ["OwnModel"],
        "auto_map": {"AutoConfig": "own.OwnConfig", "AutoModelForMaskedLM": "own.OwnModel"},
    }
    (path / "config.json").write_text(json.dumps(configuration))
    return path


def test_a_folders_own_code_is_not_run_unasked(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as a piped corpus might begin
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\ny\ny\n"))
    with pytest.raises(BadInput, match=r"its own Python code, .* trust_remote_code=True"):
        hs.load(folder)
    with pytest.raises(BadInput, match="its own Python code"):
        new_classifier(folder, _task(), PROTOCOL)
    assert not (tmp_path / "ran").exists()
    assert sys.stdin.read() == "y\ny\ny\n"


def test_a_folders_own_code_runs_for_those_who_mean_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "cache"))
    scope = hs.load(folder, trust_remote_code=True)
    assert (tmp_path / "ran").exists()
    plain = hs.load(tiny_model("BertForMaskedLM"), tiny_tokenizer())
    np.testing.assert_allclose(
        scope.read("the cat", "he sat").attention, plain.read("the cat", "he sat").attention,
        atol=1e-6,
    )  # fmt: skip


def test_fine_tuning_runs_a_folders_own_code_only_where_it_is_trusted(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    with (folder / "own.py").open("a") as file:
        file.write(
            "\nfrom transformers import BertForSequenceClassification\n"
            "class OwnClassifier(BertForSequenceClassification):\n    config_class = OwnConfig\n"
        )
    configuration = json.loads((folder / "config.json").read_text())
    configuration["auto_map"]["AutoModelForSequenceClassification"] = "own.OwnClassifier"
    (folder / "config.json").write_text(json.dumps(configuration))
    Path("task.tsv").write_text("text\tlabel\nthe cat\tyes\nhe ran\tno\n")
    words = ["finetune", "task.tsv", "-m", str(folder), "-o", "made", "--epochs", "1"]
    assert cli.run(words) == 2
    assert "its own Python code" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "ran").exists() and not (tmp_path / "made").exists()
    assert cli.run([*words, "--trust-remote-code"]) == 0
    assert (tmp_path / "ran").exists() and (tmp_path / "made" / "config.json").exists()


@pytest.mark.timeout(600)
def test_the_app_runs_a_folders_own_code_only_where_the_command_says_so(
    folder: Path, tmp_path: Path
) -> None:
    words = [sys.executable, "-m", "headscope", "app", "-m", str(folder), "--port", "0"]
    surroundings = {**os.environ, "HF_MODULES_CACHE": str(tmp_path / "cache")}
    refused = subprocess.run(
        [*words, "--no-browser"], input="y\ny\n", capture_output=True, text=True, timeout=300,
        env=surroundings,
    )  # fmt: skip
    assert refused.returncode != 0 and "its own Python code" in " ".join(refused.stderr.split())
    assert not (tmp_path / "ran").exists()
    app = subprocess.Popen(
        [*words, "--no-browser", "--trust-remote-code"], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=surroundings,
    )  # fmt: skip
    try:
        end = time.monotonic() + 300
        while not (tmp_path / "ran").exists() and app.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        assert (tmp_path / "ran").exists()
    finally:
        app.kill()
        app.wait()


class _Runs:
    def __reduce__(self):
        return (exec, ("raise SystemExit('it ran')",))


def test_a_pickle_that_could_run_code_is_refused_without_advice_to_open_it(tmp_path: Path) -> None:
    tiny_model("BertForMaskedLM").save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    for content in (_Runs(), {"bert.embeddings.word_embeddings.weight": _Runs()}):
        torch.save(content, tmp_path / "pytorch_model.bin")
        with pytest.raises(HeadscopeError, match="opening it could run code") as refused:
            hs.load(tmp_path)
        assert "weights_only" not in str(refused.value)
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps(_Runs()))
    with pytest.raises(HeadscopeError) as refused:
        hs.load(tmp_path)
    assert "weights_only" not in str(refused.value)


def test_weights_in_a_plain_pickle_are_read(tmp_path: Path) -> None:
    model = tiny_model("BertForMaskedLM")
    model.save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    found = hs.load(tmp_path).read("the cat").attention
    np.testing.assert_allclose(
        found, hs.load(model, tiny_tokenizer()).read("the cat").attention, atol=1e-6
    )


def _task():
    from headscope.tasks.task import Task

    return Task(
        "own", "classification", ("the cat",) * 2, None, np.arange(2), ("a", "b"), "accuracy"
    )
