"""The first screen comes from the last start, is what the model would answer, and only that."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest
from starlette.testclient import TestClient

from headscope.surfaces.app import Models
from headscope.surfaces.app.front import Front
from headscope.surfaces.app.server import routes_over, session_over
from headscope.surfaces.app.start.first_screen import first_screen, keep_screen, taken_up
from headscope.surfaces.app.start.kept import load, place
from tests.views.decoding import Container


@pytest.fixture
def session(tiny_bert):
    known = Models(["tiny"])
    known._scopes = {"bundled": tiny_bert, "tiny": tiny_bert}
    return session_over(known)


@pytest.fixture
def kept(session, tmp_path):
    keep_screen(session, tmp_path / "screens" / "one.zip")
    return load(tmp_path / "screens" / "one.zip")


def asked_by_the_page(client):
    """What the page asks, in its order and as it asks."""
    welcome = client.get("/api/models").json()
    model = next(each for each in welcome["models"] if each["id"] == welcome["default"])
    example = welcome["examples"][model["examples"][0]]
    request = {"model": model["id"], "text": example["text"], "text_pair": example["text_pair"]}
    request |= {"off": [], "layer": None, "ticket": "123456789abc"}
    read = client.post("/api/read", json=request)
    header = Container(read.content).header
    state, name = header["state"], header["id"]
    at = f"{state['kind']}/{state['layer']}/{state['head']}"
    head = client.get(f"/api/reading/{name}/head/{at}")
    predicted = client.post("/api/predict", json={"id": name, "off": []})
    return welcome, read.content, head.json(), predicted.json()


def test_the_first_screen_is_there_before_the_model_and_says_what_the_model_says(session, kept):
    may_start = threading.Event()

    def make(stage):
        may_start.wait(200)
        assert taken_up(session, kept)
        return routes_over(session)

    front = TestClient(Front(make, kept), base_url="http://localhost")
    before = asked_by_the_page(front)
    assert not may_start.is_set(), "nothing of this needed the model"
    assert front.get("/api/start").json()["doing"]
    may_start.set()
    live = asked_by_the_page(TestClient(routes_over(session), base_url="http://localhost"))
    assert before[0] == live[0] and before[3] == live[3]
    one, two = Container(before[1]), Container(live[1])
    assert np.allclose(one.weights(0, one.header["state"]["layer"]), two.weights(0, 1), atol=1e-6)
    for mine, other in zip(before[2]["statistics"], live[2]["statistics"], strict=True):
        assert mine["name"] == other["name"]
        assert mine["value"] == pytest.approx(other["value"], abs=1e-6)
    other_layer = front.get(f"/api/reading/{one.header['id']}/layer/encoder/0")
    assert other_layer.status_code == 200, "the reading behind the picture is the session's own"


def test_another_question_waits_for_the_model(session, kept):
    front = TestClient(Front(lambda stage: routes_over(session), kept), base_url="http://localhost")
    request = {"model": "tiny", "text": "the cat", "text_pair": None, "off": []}
    read = front.post("/api/read", json=request)
    assert "cat" in Container(read.content).header["parts"][0]["query"]["text"]
    off = [["encoder", 0, 0]]
    assert (
        kept.answer("POST", "/api/predict", json.dumps({"id": kept.id, "off": off}).encode())
        is None
    )
    assert kept.answer("POST", "/api/read", b"no json") is None
    assert kept.answer("POST", "/api/read", json.dumps({**kept.asked, "layer": 0}).encode()) is None
    assert kept.answer("POST", "/api/read", json.dumps(dict(kept.asked)).encode()) is not None


def test_a_screen_of_a_model_that_reads_otherwise_is_not_taken_up(session, kept, tiny_bert):
    session.models._scopes["tiny"] = tiny_bert.without([(0, 0)])
    assert not taken_up(session, kept)
    client = TestClient(routes_over(session), base_url="http://localhost")
    gone = client.get(f"/api/reading/{kept.id}/layer/encoder/0")
    assert gone.status_code == 404, "and the page reads the text again"


def test_screens_are_kept_by_the_files_of_the_model(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    model = tmp_path / "model"
    model.mkdir()
    (model / "weights").write_bytes(b"one")
    first = place([str(model)], None)
    assert first == place([str(model)], None) and first != place([], None)
    (model / "weights").write_bytes(b"other")
    assert place([str(model)], None) != first
    assert place(["a/name-on-a-hub"], None) is None
    assert load(first) is None


def test_a_model_that_opens_on_a_picture_has_no_kept_screen(session, monkeypatch):
    monkeypatch.setattr(session.models, "entry", lambda name: {"sees": True, "hears": False})
    assert first_screen(session) is None
