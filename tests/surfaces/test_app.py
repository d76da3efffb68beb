"""The app answers its own page, with each person's own readings, and nobody else."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from starlette.testclient import TestClient

import headscope as hs
from headscope.errors import BadInput
from headscope.surfaces.app import Models, create_app
from headscope.surfaces.app.atlas import opened_bytes
from headscope.surfaces.app.guard import MOST_BYTES
from headscope.surfaces.app.kept import KeptReading, kept_readings
from headscope.surfaces.app.request import MOST_CHARACTERS
from tests.views.decoding import Container

TEXT, PAIR = "I went to the store.", "At the store, I bought fresh [MASK]."


@pytest.fixture(scope="module")
def models(request):
    """The app's models with tiny ones in the place of those it would load."""
    return Models(
        ["tiny", "writer", "pairs"],
        scopes={
            "bundled": request.getfixturevalue("tiny_bert"),
            "tiny": request.getfixturevalue("tiny_bert"),
            "writer": request.getfixturevalue("tiny_llama"),
            "pairs": request.getfixturevalue("tiny_t5"),
        },
    )


@pytest.fixture(scope="module")
def client(models):
    return TestClient(create_app(models), base_url="http://localhost:8311")


def read(client, model="tiny", text=TEXT, text_pair=PAIR, **more):
    return client.post(
        "/api/read", json={"model": model, "text": text, "text_pair": text_pair, "off": [], **more}
    )


def test_a_text_is_read_and_its_layers_are_fetched(client, tiny_bert):
    container = Container(read(client, layer=1).content)
    header = container.header
    expected = tiny_bert.read(TEXT, PAIR).part()
    assert header["state"]["layer"] == 1
    assert np.allclose(container.weights(0, 1), expected.weights(1), atol=1e-3)
    assert header["parts"][0]["per_layer"][0]["q"] is None
    assert {column["name"] for column in header["table"]["columns"]} >= {"entropy", "previous_word"}
    other = client.get(f"/api/reading/{header['id']}/layer/encoder/0")
    assert np.allclose(Container(other.content).weights(0, 0), expected.weights(0), atol=1e-3)


def test_a_head_s_facts_are_its_numbers_on_this_text(client, tiny_bert):
    name = Container(read(client).content).header["id"]
    facts = client.get(f"/api/reading/{name}/head/encoder/1/2").json()
    part = tiny_bert.read(TEXT, PAIR).part()
    weights = part.weights(1)[2].astype(float)
    entropy = -(weights * np.log(weights)).sum(-1).mean()
    measured = {one["name"]: one["value"] for one in facts["statistics"]}
    assert measured["entropy"] == pytest.approx(entropy, abs=1e-4)
    asking = [label != "[SEP]" for label in part.query.labels]
    assert measured["confidence"] == pytest.approx(weights[asking].max(-1).mean(), abs=1e-4)
    assert (facts["why"] is None) == bool(facts["why_not"])


def test_predictions_change_when_heads_are_switched_off(client, tiny_bert):
    name = Container(read(client).content).header["id"]
    off = [["encoder", layer, head] for layer in range(2) for head in range(4)]
    reply = client.post("/api/predict", json={"id": name, "off": off}).json()
    (place,) = reply["places"]
    expected = tiny_bert.fill(TEXT, PAIR)[0][0]
    assert place["before"][0] == {"token": expected.token, "probability": expected.probability}
    assert place["before"] != place["after"]
    assert tiny_bert.read(TEXT, PAIR).tokens[place["position"]] == "[MASK]"


def test_a_decoder_predicts_what_comes_next(client, tiny_llama):
    name = Container(read(client, model="writer", text_pair=None).content).header["id"]
    reply = client.post("/api/predict", json={"id": name, "off": []}).json()
    assert reply["places"][0]["before"][0]["token"] == tiny_llama.next_token(TEXT)[0].token


def test_without_a_mask_the_reply_says_what_to_do(client):
    name = Container(read(client, text_pair="At the store.").content).header["id"]
    reply = client.post("/api/predict", json={"id": name, "off": []}).json()
    assert [place["title"] for place in reply["places"]] == ["next sentence"]
    assert "[MASK]" in reply["note"]
    alone = Container(read(client, text_pair=None).content).header["id"]
    reply = client.post("/api/predict", json={"id": alone, "off": []}).json()
    assert reply["places"] == [] and "[MASK]" in reply["note"]


def test_a_translator_predicts_what_its_decoder_says_next(client):
    name = Container(read(client, model="pairs").content).header["id"]
    off = [["encoder", 0, 0], ["cross", 1, 2]]
    (place,) = client.post("/api/predict", json={"id": name, "off": off}).json()["places"]
    assert place["title"] == "next token" and place["before"] != place["after"]


def test_a_text_that_was_cut_is_predicted_and_weighed_as_it_was_read(client):
    text = "[MASK] " + "cat " * 300
    cut = read(client, text=text, text_pair=None, truncate=True)
    name = Container(cut.content).header["id"]
    (place,) = client.post("/api/predict", json={"id": name, "off": []}).json()["places"]
    assert place["position"] == 1
    assert client.post("/api/importance", json={"id": name, "off": []}).json()["heads"]


@pytest.mark.parametrize("model", ["tiny", "writer", "pairs"])
def test_importance_is_the_slope_of_the_answer_at_each_head(client, model):
    name = Container(read(client, model=model).content).header["id"]
    heads = client.post("/api/importance", json={"id": name, "off": []}).json()["heads"]
    values = [one["importance"] for one in heads]
    assert values == sorted(values, reverse=True)
    assert values[0] > 0


def test_importance_agrees_with_a_finite_difference(client, tiny_bert):
    """Scaling one head's weights by 1 ± ε moves the answer as the slope says."""
    name = Container(read(client).content).header["id"]
    top = client.post("/api/importance", json={"id": name, "off": []}).json()["heads"][0]
    batch = tiny_bert.encode([TEXT], [PAIR])
    mask = (batch.inputs["input_ids"][0] == tiny_bert.tokenizer.mask_token_id).nonzero().item()

    def answer(gate: float) -> float:
        def scale(call):
            if call.layer != top["layer"]:
                return None
            weights = call.weights.clone()
            weights[:, top["head"]] *= gate
            return weights

        logits = tiny_bert.forward(batch, scale).prediction_logits[0, mask].double()
        return logits.log_softmax(-1).max().item()

    slope = (answer(1.01) - answer(0.99)) / 0.02
    assert abs(slope) == pytest.approx(top["importance"], rel=0.02)


def test_heads_switched_off_attend_uniformly_in_the_reading(client):
    reply = Container(read(client, off=[["encoder", 0, 1]], layer=0).content)
    count = len(reply.header["parts"][0]["query"]["text"])
    assert np.allclose(reply.weights(0, 0)[1], 1 / count, atol=1e-3)


@pytest.mark.parametrize("file_format", ["svg", "png", "pdf", "html", "safetensors"])
def test_what_is_on_screen_can_be_exported(client, file_format):
    name = Container(read(client).content).header["id"]
    state = "view=neuron&kind=encoder&layer=1&head=2&query=3&theme=dark&sort=contribution"
    reply = client.get(f"/api/reading/{name}/export?format={file_format}&{state}")
    assert reply.status_code == 200
    assert reply.headers["content-disposition"].startswith("attachment")
    assert len(reply.content) > 1000


@pytest.mark.parametrize(
    ("query", "said"),
    [("format=gif", "exports"), ("format=svg&view=x", "no view"), ("format=svg&layer=x", "number")],
)
def test_an_impossible_export_gets_a_sentence(client, query, said):
    name = Container(read(client).content).header["id"]
    reply = client.get(f"/api/reading/{name}/export?{query}")
    assert reply.status_code == 400 and said in reply.json()["error"]


def test_two_people_get_readings_of_their_own(client):
    one = Container(read(client, text="the cat sat", text_pair=None).content).header
    two = Container(read(client, text="a dog ran", text_pair=None).content).header
    assert one["id"] != two["id"] and len(one["id"]) >= 24
    for name, word in ((one["id"], "cat"), (two["id"], "dog")):
        again = client.get(f"/api/reading/{name}/layer/encoder/0")
        assert word in Container(again.content).header["parts"][0]["query"]["text"]


def test_two_people_at_once_do_not_mix(client):
    from concurrent.futures import ThreadPoolExecutor

    words = ["cat", "dog", "tree", "house"] * 3

    def ask(word):
        header = Container(read(client, text=f"the {word} sat", text_pair=None).content).header
        return header["parts"][0]["query"]["text"][2]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, words)) == words


def test_old_readings_are_let_go_and_say_so(client, tiny_bert):
    reading = tiny_bert.read("a cat")
    kept = KeptReading("tiny", tiny_bert, "a cat", None, reading, (), None)
    store = kept_readings(most=2)
    names = [store.keep(kept) for _ in range(3)]
    assert store.get(names[2]) is kept
    with pytest.raises(Exception, match="no longer kept"):
        store.get(names[0])
    assert client.get("/api/reading/unknown/layer/encoder/0").status_code == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8311", "localhost.evil.example", ""]
)
def test_other_hosts_are_refused(client, host):
    assert client.get("/", headers={"Host": host}).status_code == 400


@pytest.mark.parametrize("host", ["localhost:8311", "127.0.0.1:8311", "[::1]:8311"])
def test_loopback_is_answered(client, host):
    assert client.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "http://localhost:9999", "null"])
def test_other_pages_are_refused(client, origin):
    reply = client.post("/api/read", json={}, headers={"Origin": origin})
    assert reply.status_code == 403


def test_its_own_page_is_answered(client):
    reply = client.get("/api/models", headers={"Origin": "http://localhost:8311"})
    assert reply.status_code == 200
    assert reply.json()["default"] == "tiny"  # the first that was named


def test_requests_are_limited_in_size_whatever_length_they_announce(client):
    assert client.post("/api/read", content=b"x" * (MOST_BYTES + 1)).status_code == 413

    def drip():
        for _ in range(12):
            yield b"x" * 100_000

    assert client.post("/api/read", content=drip()).status_code == 413


def test_texts_are_limited_in_characters_and_tokens(client):
    assert read(client, text="a" * (MOST_CHARACTERS + 1)).status_code == 400
    reply = read(client, text="cat " * 300, text_pair=None)
    assert reply.status_code == 413
    assert reply.json() == {
        "error": reply.json()["error"],
        "tokens": 302,
        "limit": 128,
    }
    cut = Container(read(client, text="cat " * 300, text_pair=None, truncate=True).content)
    assert len(cut.header["parts"][0]["query"]["text"]) == 128


@pytest.mark.parametrize("model", ["../models", "/etc", "bert-base-uncased", "other"])
def test_a_model_nobody_allowed_is_never_opened(client, model, monkeypatch):
    monkeypatch.setattr("headscope.surfaces.app.models.load", lambda *_: pytest.fail("opened"))
    reply = read(client, model=model)
    assert reply.status_code == 400 and "may not open" in reply.json()["error"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"model": 3}',
        b'{"model": "tiny", "text": null}',
        b'{"model": "tiny", "text": "a", "off": [1]}',
        b'{"model": "tiny", "text": "a", "off": [["x", 0, 0]]}',
        b'{"model": "tiny", "text": "a", "layer": "0"}',
        b'{"model": "tiny", "text": "  "}',
        b"[" * 100_000,
    ],
)
def test_a_malformed_request_gets_a_sentence(client, body):
    reply = client.post("/api/read", content=body)
    assert reply.status_code == 400
    assert reply.json()["error"].endswith(".")


def test_heads_that_do_not_exist_get_a_sentence(client):
    reply = read(client, off=[["encoder", 7, 0]])
    assert reply.status_code == 400 and "layer" in reply.json()["error"]


def test_an_unforeseen_failure_is_not_spelled_out(models, monkeypatch):
    client = TestClient(
        create_app(models), base_url="http://localhost", raise_server_exceptions=False
    )
    monkeypatch.setattr(models, "entry", lambda name: 1 / 0)
    reply = client.get("/api/models")
    assert reply.status_code == 500 and "ZeroDivision" not in reply.text


def test_answers_carry_a_strict_policy(client):
    policy = client.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


def test_a_model_id_is_a_name_and_never_a_path(tmp_path):
    folder = tmp_path / "my-model"
    folder.mkdir()
    known = Models([str(folder), "bert-base-uncased"])
    assert list(known) == ["bundled", "my-model", "bert-base-uncased"]
    with pytest.raises(BadInput, match="may not open"):
        known.scope(str(folder))


def test_a_request_has_a_place_in_the_queue_and_can_be_taken_back(client: TestClient) -> None:
    assert client.get("/api/queue/none-of-ours").json()["before"] is None
    taken = client.post("/api/cancel", json={"ticket": "none-of-ours"})
    assert taken.json() == {"cancelled": False}
    assert client.post("/api/cancel", json={"ticket": "x"}).status_code == 400


def test_a_gpu_without_enough_memory_is_told_of_in_a_sentence(client, monkeypatch):
    def too_much(*given, **options):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    name = Container(read(client).content).header["id"]
    monkeypatch.setattr("headscope.surfaces.app.session.importance", too_much)
    reply = client.post("/api/importance", json={"id": name, "off": []})
    assert reply.status_code == 507
    assert reply.json() == {"error": "The GPU has not enough memory for this; give a shorter text."}


def test_a_given_file_that_is_no_atlas_is_told_without_a_path_of_the_server():
    with pytest.raises(BadInput) as told:
        opened_bytes(b"nothing of the kind", Models([]), "")
    assert str(told.value) == (
        "The file is not an atlas: it is neither a zip nor a folder of tables."
    )


def test_a_question_is_read_with_its_documents_and_summed_by_them(client, tiny_llama):
    documents = [{"title": "a.md", "text": "the cat sat ."}, {"text": "<b>one</b> two"}]
    reply = read(client, "writer", "who ?", "a cat", documents=documents)
    assert reply.status_code == 200, reply.text
    name = Container(reply.content).header["id"]
    found = client.get(f"/api/reading/{name}/head/decoder/1/2").json()["spans"]
    reading = tiny_llama.read(messages="who ?", documents=documents, answer="a cat")
    names = ["a.md", "document 2", "user 1"]
    expected = reading.by_span(names).sel(layer=1, head=2).mean("query")
    assert [one["name"] for one in found] == names
    assert [one["share"] for one in found] == pytest.approx(expected.to_numpy().tolist(), abs=1e-4)
    said = client.post("/api/predict", json={"id": name}).json()
    assert "plain texts" in said["note"]


def test_documents_that_cannot_be_read_are_answered_in_a_sentence(client):
    empty = read(client, "writer", "who ?", None, documents=[{"text": " "}])
    assert empty.status_code == 400 and "Document 1 is empty" in empty.json()["error"]
    encoder = read(client, "tiny", "who ?", None, documents=[{"text": "a cat"}])
    assert encoder.status_code == 400 and "load a decoder" in encoder.json()["error"]
    many = read(client, "writer", "who ?", None, documents=[{"text": "a"}] * 201)
    assert many.status_code == 400
    nothing = read(client, "writer", " ", None, documents=[{"text": "a"}])
    assert "Type a question" in nothing.json()["error"]
    wrong = read(client, "writer", "who ?", None, documents=[{"title": "a"}])
    assert "malformed" in wrong.json()["error"]


def test_who_wrote_a_query_and_a_key_is_what_score_says(client, models):
    scope = models.scope("writer")
    text = "the cat sat on the mat and the dog"
    name = Container(read(client, "writer", text, None).content).header["id"]
    asked = {"id": name, "kind": "decoder", "layer": 1, "head": 1, "query": 6}
    found = client.post("/api/writers", json=asked).json()
    part = scope.read(text).part()
    weights = part.head_weights(1, 1)[6]
    assert found["key"] == 1 + int(weights[1:].argmax())  # not the first token, which is a sink
    alone = hs.circuits.score(scope, text, 1, 1, 6, found["key"], relative_to="mean")
    assert found["value"] == pytest.approx(alone.value, abs=1e-4)
    for side, name in (("query", "asks"), ("key", "offers")):
        top = alone.top(side, 4)
        assert [one["name"] for one in found[name]] == top["writer"].tolist()
        assert [one["value"] for one in found[name]] == pytest.approx(top["value"], abs=1e-4)
        for one in found[name]:
            assert one["share"] == pytest.approx(one["value"] / alone.value, abs=1e-3)
    for head in (one for one in found["offers"] if one["layer"] is not None):
        assert head["read"][0] == int(part.head_weights(0, head["head"])[found["key"]].argmax())
    page = Container(client.post("/api/score", json=asked).content).header
    assert page["views"] == ["score"]
    assert not any(name.startswith(("dw", "dq")) for name in page["buffers"])  # no layer is sent
    assert page["score"]["at"] == [6, found["key"]]
    assert page["score"]["value"] == pytest.approx(alone.value, abs=1e-4)
    hidden = client.post("/api/writers", json={**asked, "key": 8})
    assert hidden.status_code == 400 and "does not see key 8" in hidden.json()["error"]
    first = client.post("/api/writers", json={**asked, "query": 0}).json()
    assert first["key"] == 0 and first["weight"] == pytest.approx(1.0)
