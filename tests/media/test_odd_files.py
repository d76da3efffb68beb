"""The same odd files in Python, by command and in the app: read right, or one sentence."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import headscope as hs
from headscope import cli
from headscope.errors import BadInput
from headscope.surfaces.app import Models, create_app
from tests.media.odd_files import ODD_PICTURES, three_hours
from tests.reading.media import vision_models as models
from tests.views.decoding import Container

SHAPES = {"turned by its camera": (60, 40), "transparent": (40, 40), "16 bits of grey": (40, 40)}


@pytest.fixture(scope="module")
def hears() -> hs.Scope:
    return models.wav2vec2()


@pytest.fixture(scope="module")
def client(hears: hs.Scope) -> TestClient:
    made = Models(["digits", "hears"], scopes={"hears": hears, "digits": hs.load("digits")})
    return TestClient(create_app(made), base_url="http://localhost")


@pytest.mark.parametrize("what", ODD_PICTURES)
def test_in_python(what: str, tmp_path: Path) -> None:
    name, data, said = ODD_PICTURES[what]
    (tmp_path / name).write_bytes(data)
    scope = hs.load("digits")
    if said is not None:
        with pytest.raises(BadInput, match=said):
            scope.read(image=tmp_path / name)
        return
    pixels = scope.read(image=tmp_path / name).pictures[0].pixels
    assert pixels.shape[:2] == SHAPES[what]
    if what == "transparent":
        assert (pixels == 255).all()
    if what == "16 bits of grey":
        assert pixels.min() == 0 and pixels.max() == 255


@pytest.mark.parametrize("what", ODD_PICTURES)
def test_by_command(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, data, said = ODD_PICTURES[what]
    (tmp_path / name).write_bytes(data)
    made = tmp_path / "o.svg"
    code = cli.run(["view", "--image", str(tmp_path / name), "-m", "digits", "-o", str(made)])
    told = capsys.readouterr().err
    if said is None:
        assert code == 0 and made.exists(), told
        return
    assert code == 2 and said in told and "Traceback" not in told and not made.exists()


@pytest.mark.parametrize("what", ODD_PICTURES)
def test_in_the_app(what: str, client: TestClient) -> None:
    name, data, said = ODD_PICTURES[what]
    asked: dict[str, Any] = {"model": "digits", "text": "", "media": "image", "name": name}
    answer = client.post("/api/media", json={**asked, "data": base64.b64encode(data).decode()})
    if said is not None:
        assert answer.status_code == 400 and said in answer.json()["error"]
        return
    picture = Container(answer.content).header["pictures"][0]
    assert (picture["height"], picture["width"]) == SHAPES[what]


def test_three_hours_of_sound(
    tmp_path: Path, hears: hs.Scope, client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    sound = three_hours(tmp_path / "long.wav")
    with pytest.raises(BadInput, match="lasts 180 minutes"):
        hears.read(audio=sound)
    hears.model.save_pretrained(tmp_path / "model")
    hears.processor.save_pretrained(tmp_path / "model")
    capsys.readouterr()
    command = ["view", "--audio", str(sound), "-m", str(tmp_path / "model")]
    assert cli.run([*command, "-o", str(tmp_path / "o.html")]) == 2
    assert "lasts 180 minutes" in capsys.readouterr().err and not (tmp_path / "o.html").exists()
    data = base64.b64encode(sound.read_bytes()).decode()
    asked = {"model": "hears", "text": "", "media": "audio", "name": "long.wav", "data": data}
    answer = client.post("/api/media", json=asked)
    assert answer.status_code == 400 and "180 minutes" in answer.json()["error"]
