"""Any token of a text is explained: what made it, set against another, and a word masked first."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

import headscope as hs
from headscope.surfaces.app import Models, create_app
from tests.views.decoding import Container


def client_of(scope: hs.Scope) -> TestClient:
    models = Models(["model"], scopes={"bundled": scope, "model": scope})
    return TestClient(create_app(models), base_url="http://localhost:8313")


def test_why_of_every_token_of_a_written_text_is_the_attribution_at_its_position(tiny_llama):
    client = client_of(tiny_llama)
    asked = {"count": 30, "model": "model", "text": "a dog ran"}
    written = client.post("/api/write", json=asked).json()
    read = {"model": "model", "text": "", "writing": written["id"]}
    name = Container(client.post("/api/read", json=read).content).header["id"]
    tokens = tiny_llama.generate("a dog ran", max_new_tokens=30).part("decoder").query
    first, ids = written["prompt_tokens"], tokens.ids
    assert len(written["steps"]) == len(ids) - first == 30
    text = " ".join(tokens.labels[1:])  # its [CLS] is added again
    assert tiny_llama.read(text).part().query.ids[: len(ids)].tolist() == ids.tolist()
    logits = logits_of(tiny_llama, {"input_ids": [ids.tolist()]})
    for token in range(first, len(ids)):
        reply = client.post("/api/attribute", json={"id": name, "token": token})
        shown = Container(reply.content).header["prediction"]
        expected = hs.attribute(tiny_llama, text, target=int(ids[token]), position=token - 1)
        assert shown["position"] == token - 1
        assert shown["value"] == pytest.approx(float(logits[token - 1, ids[token]]), abs=1e-3)
        assert [(part["label"], part["value"]) for part in shown["parts"]] == [
            (part.label, pytest.approx(part.value, abs=1e-3)) for part in expected.strongest(24)
        ]


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
