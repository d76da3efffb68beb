"""The first example in the package is what the bundled model answers, and is shown before it."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest
from starlette.testclient import TestClient

from headscope.surfaces.app import Models, first
from headscope.surfaces.app.front import Front
from headscope.surfaces.app.server import routes_over
from headscope.surfaces.app.session import session_over
from tests.views.decoding import Container

HINT = "write it again: python -m headscope.surfaces.app.first"


def alike(one: object, two: object) -> None:
    """Equal, numbers to 1e-3: another processor rounds otherwise."""
    if isinstance(one, dict):
        assert isinstance(two, dict) and one.keys() == two.keys(), HINT
        for name in one:
            if name != "buffers":  # compared as numbers; their lengths may differ by a byte
                alike(one[name], two[name])
    elif isinstance(one, list):
        assert isinstance(two, list) and len(one) == len(two), HINT
        for each in zip(one, two, strict=True):
            alike(*each)
    elif isinstance(one, float):
        assert two == pytest.approx(one, abs=1e-3), HINT
    else:
        assert one == two, HINT


def test_the_first_example_is_what_the_model_answers() -> None:
    fresh, stored = first.made(session_over(Models([]))), first.stored()
    assert fresh.keys() == stored.keys(), HINT
    for name in fresh:
        if name != "POST /api/read":
            alike(json.loads(fresh[name]), json.loads(stored[name]))
    now, then = (Container(one["POST /api/read"]) for one in (fresh, stored))
    alike(now.header, then.header)
    layer = now.header["state"]["layer"]
    assert np.allclose(now.weights(0, layer), then.weights(0, layer), atol=1e-3), HINT


def test_the_first_example_is_there_before_the_model_and_its_reading_goes_on() -> None:
    may_start = threading.Event()

    def make(stage):
        may_start.wait(200)
        session = session_over(Models([]))
        first.made(session)
        stage.doing = None
        return routes_over(session)

    client = TestClient(Front(make, with_first=True), base_url="http://localhost")
    welcome = client.get("/api/models").json()
    example = welcome["examples"][welcome["models"][0]["examples"][0]]
    asked = {"model": "bundled", "text": example["text"], "text_pair": example["text_pair"]}
    read = client.post("/api/read", json={**asked, "off": [], "layer": None, "ticket": "x" * 9})
    header = Container(read.content).header
    state = header["state"]
    head = f"{state['kind']}/{state['layer']}/{state['head']}"
    assert client.get(f"/api/reading/{header['id']}/head/{head}").json()["statistics"]
    assert client.post("/api/predict", json={"id": header["id"], "off": []}).json()["places"]
    assert not may_start.is_set() and client.get("/api/start").json()["doing"]
    may_start.set()
    other = client.get(f"/api/reading/{header['id']}/layer/{state['kind']}/0")
    assert other.status_code == 200 and Container(other.content).header["parts"]
    another = client.post("/api/read", json={**asked, "text": "a cat"})
    assert Container(another.content).header["id"] != header["id"]
