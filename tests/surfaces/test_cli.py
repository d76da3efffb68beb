"""The commands: a picture in any format, the app on loopback, mistakes in one sentence."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from headscope.cli import build
from headscope.cli.app import _listen
from headscope.errors import BadInput, HeadscopeError

PAIR = ["I went to the store.", "At the store, I bought fresh strawberries."]


@pytest.fixture
def run(tiny_bert, monkeypatch):
    monkeypatch.setattr("headscope.cli.view.open_scope", lambda *_: tiny_bert)

    def invoke(*arguments: str):
        return CliRunner().invoke(build(), ["view", *PAIR, *arguments], catch_exceptions=True)

    return invoke


@pytest.mark.parametrize("name", ["head", "model", "neuron", "matrix", "head_map"])
@pytest.mark.parametrize("ending", ["html", "svg"])
def test_every_view_is_written_and_its_place_said(run, tmp_path, name, ending):
    path = tmp_path / f"out.{ending}"
    result = run("--view", name, "-o", str(path))
    assert result.exit_code == 0, result.output
    assert path.stat().st_size > 1000


def test_a_reading_is_written_for_other_tools(run, tmp_path):
    from safetensors import safe_open

    path = tmp_path / "r.safetensors"
    assert run("-o", str(path)).exit_code == 0
    with safe_open(path, "np") as opened:
        assert len(list(opened.keys())) > 0


def test_without_an_output_the_strongest_weights_are_printed(run, tiny_bert):
    result = run("--layer", "1", "--head", "2")
    weights = tiny_bert.read(*PAIR).part().weights(1)[2]
    assert "layer 1, head 2" in result.output
    assert f"{weights[0].max():.3f}" in result.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--view", "flower"), "--view is one of"),
        (("-o", "x.gif"), "is written as .html"),
        (("--layer", "9"), "no layer 9"),
        (("--view", "neuron", "--head", "1", "--head", "2"), "give --head once"),
    ],
)
def test_mistakes_get_one_sentence(run, arguments, said):
    result = run(*arguments)
    assert isinstance(result.exception, BadInput)
    assert said in str(result.exception)


def test_a_taken_or_impossible_port_gets_a_sentence():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(HeadscopeError, match="--port"):
            _listen("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(BadInput, match="0 to 65535"):
        _listen("127.0.0.1", 70000)


def test_the_bare_command_opens_the_app_on_loopback(monkeypatch):
    served = []
    monkeypatch.setattr("headscope.cli.app.serve", lambda *given, **named: served.append(given))
    monkeypatch.setattr("headscope.cli.app._listen", lambda host, port: _listen(host, 0))
    assert CliRunner().invoke(build(), []).exit_code == 0
    ((listening, hosts, models, token, _),) = served
    assert hosts == {"127.0.0.1", "::1", "localhost"}
    assert models == [] and token is None  # this machine alone: nothing to ask for
    assert listening.getsockname()[0] == "127.0.0.1"
    listening.close()


def test_a_model_that_cannot_be_opened_ends_the_command_with_a_sentence(tmp_path, capfd):
    from headscope.cli.app import serve

    with pytest.raises(HeadscopeError, match="no-such-model"):
        serve(_listen("127.0.0.1", 0), {"localhost"}, [str(tmp_path / "no-such-model")], None, None)
    assert "Traceback" not in capfd.readouterr().err


def test_the_app_listens_on_loopback_unless_told():
    import inspect

    from headscope.cli.app import open_app

    assert inspect.signature(open_app).parameters["host"].default == "127.0.0.1"
    with _listen("127.0.0.1", 0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"


def test_a_stop_while_a_model_is_being_opened_ends_without_tearing_torch_down() -> None:
    code = (
        "import atexit, sys, threading, time; from headscope.cli import main\n"
        "from headscope.surfaces.app.front import STARTING\n"
        "atexit.register(print, 'torn down'); sys.argv = ['headscope', '--version']\n"
        "if NAME:\n"
        "    threading.Thread(target=time.sleep, args=(60,), name=NAME, daemon=True).start()\n"
        "main()"
    )
    for name, torn_down in (("STARTING", False), ("''", True)):
        words = [sys.executable, "-c", code.replace("NAME", name)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=140)
        assert done.returncode == 0 and done.stdout.startswith("headscope 0"), done.stderr
        assert ("torn down" in done.stdout) is torn_down
