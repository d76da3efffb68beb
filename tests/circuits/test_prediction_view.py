"""The prediction view carries the attribution's own numbers to the page."""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs
from headscope.circuits.logits.attribution import flow_of
from headscope.views import discover
from tests.views.decoding import Container

TEXT = "i went to the store and bought a red"


def test_the_page_gets_the_words_behind_every_listed_head(tiny_llama) -> None:
    found = hs.attribute(tiny_llama, TEXT, target="house")
    container = Container(discover()["prediction"].build(found).container())
    header = container.header["prediction"]
    numbers = container.array(header["by_key"]).reshape(len(header["words"]), -1)
    for name, row in zip(header["words"], numbers, strict=True):
        kind, layer, head = name.split(".")
        own = found.by_key(int(layer), int(head), kind)
        assert np.allclose(row, own, atol=1e-3)
    listed = sum(part["value"] for part in header["parts"])
    assert listed + header["rest"] == pytest.approx(header["value"], abs=1e-3)


def test_a_reading_of_the_same_text_may_travel_along(tiny_llama) -> None:
    found, reading = hs.attribute(tiny_llama, TEXT), tiny_llama.read(TEXT)
    container = Container(discover()["prediction"].build(found, reading=reading).container())
    assert container.header["parts"] and container.header["prediction"]["parts"]
    numbers = container.array(container.header["prediction"]["by_key"])
    assert np.isfinite(numbers).all() and np.abs(numbers).sum() > 0


def test_the_flow_says_how_much_it_leaves_out(tiny_llama) -> None:
    found = hs.attribute(tiny_llama, TEXT)
    flow = flow_of(found)
    assert 0.5 < flow.shown <= 1
    drawn = sum(part.value for part in flow.parts)
    assert drawn + flow.rest == pytest.approx(found.value)


def test_a_survey_has_no_prediction() -> None:
    with pytest.raises(hs.BadInput, match="holds no prediction"):
        hs.prediction_view("a survey")


def test_the_app_takes_a_prediction_apart_and_refuses_nonsense(tiny_llama) -> None:
    from starlette.testclient import TestClient

    from headscope.surfaces.app import Models, create_app

    models = Models(["tiny"], scopes={"bundled": tiny_llama, "tiny": tiny_llama})
    client = TestClient(create_app(models), base_url="http://localhost:8311")
    asked = {"model": "tiny", "text": TEXT, "text_pair": None, "off": []}
    name = Container(client.post("/api/read", json=asked).content).header["id"]
    for target in (None, "house"):
        reply = client.post("/api/attribute", json={"id": name, "target": target})
        assert reply.status_code == 200
        header = Container(reply.content).header["prediction"]
        assert header["target"] == [target] or target is None
    for by in ("norm", "logit"):
        reply = client.post("/api/weigh", json={"id": name, "by": by, "target": "house"})
        assert reply.status_code == 200 and by in Container(reply.content).header["weightings"]
    drawn = f"/api/reading/{name}/export?format=svg&view=matrix&weighting=norm"
    assert "norm of what is moved" in client.get(drawn).text
    assert client.post("/api/weigh", json={"id": name, "by": "magic"}).status_code == 400
    wrong = client.post("/api/attribute", json={"id": name, "target": "straw berries"})
    assert "tokens" in Container(wrong.content).header["why_no_prediction"]
    assert client.post("/api/attribute", json={"id": name, "target": 7}).status_code == 400
