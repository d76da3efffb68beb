"""Any token of a text is explained: what made it, set against another, and a word masked first."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

import headscope as hs
from headscope.surfaces.app import Models, create_app
from headscope.surfaces.app.predictions import attribution
from headscope.surfaces.app.request import ReadRequest, WriteRequest
from headscope.surfaces.app.session import Session
from tests.views.decoding import Container


def client_of(scope: hs.Scope) -> TestClient:
    models = Models(["model"], scopes={"bundled": scope, "model": scope})
    return TestClient(create_app(models), base_url="http://localhost:8313")


def test_why_of_every_token_of_a_written_text_is_the_attribution_at_its_position(tiny_llama):
    session = Session(Models(["model"], scopes={"bundled": tiny_llama, "model": tiny_llama}))
    written = session.write(WriteRequest(count=30, model="model", text="one red house"))
    header = session.read(ReadRequest(model="model", text="", writing=written["id"])).header
    kept = session.readings.get(header["id"])
    tokens = kept.reading.part("decoder").query
    assert len(written["steps"]) == 30 and len(tokens) >= 30
    for token in range(1, len(tokens)):
        found = attribution(kept, None, token=token)
        ids = {"input_ids": [tokens.ids.tolist()]}
        expected = logits_of(tiny_llama, ids)[token - 1, tokens.ids[token]]
        assert found.position == token - 1
        assert found.value == pytest.approx(float(expected), abs=1e-3)
        assert found.value - found.unexplained == pytest.approx(
            sum(part.value for part in found.parts), abs=1e-3
        )


def logits_of(scope: hs.Scope, inputs):
    import torch

    with torch.no_grad():
        return scope.model(torch.tensor(inputs["input_ids"])).logits[0]


def test_a_token_of_a_text_is_explained_as_hs_attribute_does(tiny_llama) -> None:
    text = "one red house and one blue house"
    client = client_of(tiny_llama)
    read = {"model": "model", "text": text, "text_pair": None, "off": []}
    name = Container(client.post("/api/read", json=read).content).header["id"]
    tokens = tiny_llama.read(text).part().query
    for token in range(1, len(tokens)):
        reply = client.post("/api/attribute", json={"id": name, "token": token})
        header = Container(reply.content).header["prediction"]
        own = int(tokens.ids[token])
        expected = hs.attribute(tiny_llama, text, target=own, position=token - 1)
        assert header["position"] == token - 1 and header["target"] == list(expected.target)
        assert header["value"] == pytest.approx(expected.value, abs=1e-4)
        shown = [(part["label"], part["value"]) for part in header["parts"]]
        assert shown == [
            (p.label, pytest.approx(p.value, abs=1e-4)) for p in expected.strongest(24)
        ]
    both = {"id": name, "target": "red", "rather": "house"}
    header = Container(client.post("/api/attribute", json=both).content).header["prediction"]
    expected = hs.attribute(tiny_llama, text, target=("red", "house"))
    assert header["target"] == list(expected.target)
    assert header["value"] == pytest.approx(expected.value, abs=1e-4)


def test_a_word_is_masked_whole() -> None:
    scope = hs.load()
    client = client_of(scope)
    read = {"model": "model", "text": "I bought strawberries.", "text_pair": None, "off": []}
    container = Container(client.post("/api/read", json=read).content)
    tokens = container.header["parts"][0]["query"]["text"]
    last = next(at for at, text in enumerate(tokens) if "straw" in text)
    reply = client.post("/api/mask", json={"id": container.header["id"], "token": last})
    assert reply.json() == {"text": "I bought [MASK].", "text_pair": None}
    refused = client.post("/api/mask", json={"id": container.header["id"], "token": 0})
    assert refused.status_code == 400
