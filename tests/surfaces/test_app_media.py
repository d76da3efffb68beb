"""The app reads pictures and sounds: checked, and decoded by what they are, not by their name."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

from headscope.surfaces.app import Models, create_app
from headscope.surfaces.app.media import EXAMPLES, FOLDER
from tests.views.decoding import Container


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(create_app(Models(["digits"], "cpu")), base_url="http://localhost")


def _png(size: tuple[int, int] = (40, 40)) -> str:
    stream = io.BytesIO()
    Image.fromarray(np.full((*size, 3), 120, np.uint8)).save(stream, "PNG")
    return base64.b64encode(stream.getvalue()).decode()


def _asked(**more: Any) -> dict[str, Any]:
    asked = {"model": "digits", "text": "", "media": "image", "name": "a.png", "data": _png()}
    return {**asked, **more}


def test_the_page_knows_who_sees_and_what_comes_along(client: TestClient) -> None:
    welcome = client.get("/api/models").json()
    digits = next(one for one in welcome["models"] if one["id"] == "digits")
    assert digits["sees"] and not digits["reads"] and not digits["hears"]
    assert [one["name"] for one in welcome["media_examples"]] == list(EXAMPLES)
    assert all((FOLDER / name).stat().st_size < 80_000 for name in EXAMPLES)


@pytest.mark.parametrize("more", [{}, {"media": "example", "name": "seven.png"}])
def test_a_picture_is_read_and_opens_in_the_image_view(client: TestClient, more: Any) -> None:
    answer = client.post("/api/media", json=_asked(**more))
    assert answer.status_code == 200, answer.text
    header = Container(answer.content).header
    assert header["view"] == "image" and header["pictures"] and header["id"]
    layer = client.get(f"/api/reading/{header['id']}/layer/encoder/1")
    assert layer.status_code == 200
    note = client.post("/api/predict", json={"id": header["id"], "off": []}).json()
    assert note["places"] == [] and "texts" in note["note"]
    figure = client.get(f"/api/reading/{header['id']}/export?format=svg&view=image&layer=1")
    assert figure.status_code == 200 and b"on the picture" in figure.content


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"data": base64.b64encode(b"%PDF-1.7").decode()}, "not a picture"),
        ({"data": "no base64!"}, "base64"),
        ({"data": 3}, "at `data`"),
        ({"media": "video"}, "at `media`"),
        ({"media": "example", "name": "../../front.py"}, "no such example"),
        ({"media": "example", "name": "tones.wav"}, "hears no sound"),
        ({"model": "bundled"}, "sees no pictures"),
        ({"name": None}, "at `name`"),
    ],
)
def test_what_cannot_be_read_gets_a_sentence(client: TestClient, more: Any, said: str) -> None:
    answer = client.post("/api/media", json=_asked(**more))
    assert answer.status_code == 400 and said in answer.json()["error"]


def test_a_file_that_is_too_large_is_refused_before_it_is_decoded(client: TestClient) -> None:
    answer = client.post("/api/media", json=_asked(data="A" * 17_000_001))
    assert answer.status_code == 413 and "smaller file" in answer.json()["error"]


def test_a_model_of_pictures_says_that_it_reads_no_text(client: TestClient) -> None:
    answer = client.post("/api/read", json={"model": "digits", "text": "Hello."})
    assert answer.status_code == 400 and "picture" in answer.json()["error"]
