"""The app writes on, compares, teaches: what it says is what was measured."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from starlette.testclient import TestClient

from headscope.surfaces.app import Models, create_app
from headscope.surfaces.app.examples import CLEAR, EXAMPLES, induction, lesson_for
from headscope.text.of_ids import tokens_of_ids
from headscope.views.shared.numbers import summary
from tests.views.decoding import Container

TEXT = "I went to the store and the cat sat"


@pytest.fixture(scope="module")
def client(request):
    known = Models(
        ["tiny", "writer", "pairs"],
        scopes={
            "bundled": request.getfixturevalue("tiny_bert"),
            "tiny": request.getfixturevalue("tiny_bert"),
            "writer": request.getfixturevalue("tiny_llama"),
            "pairs": request.getfixturevalue("tiny_t5"),
        },
    )
    return TestClient(create_app(known), base_url="http://localhost:8312")


def read(client, model="tiny", text=TEXT, text_pair=None, **more):
    body = {"model": model, "text": text, "text_pair": text_pair, "off": [], **more}
    return Container(client.post("/api/read", json=body).content).header


def write(client, **asked):
    return client.post("/api/write", json=asked).json()


@pytest.mark.parametrize("model", ["writer", "pairs"])
def test_a_text_written_in_two_goes_is_the_text_written_in_one(client, model, request):
    scope = request.getfixturevalue({"writer": "tiny_llama", "pairs": "tiny_t5"}[model])
    first = write(client, model=model, text=TEXT, off=[], count=3)
    assert len(first["steps"]) <= 3
    second = write(client, writing=first["id"], count=3)
    prompt = scope.encode([TEXT]).inputs
    inputs = {name: prompt[name] for name in ("input_ids", "attention_mask")}
    with torch.no_grad():
        whole = scope.model.generate(**inputs, max_new_tokens=6, do_sample=False, use_cache=False)[
            0
        ].tolist()
    header = read(client, model=model, writing=first["id"])
    decoder = header["parts"][0 if model == "writer" else 1]
    assert decoder["query"]["text"] == list(tokens_of_ids(scope.tokenizer, whole).labels)
    assert second["steps"][: len(first["steps"])] == first["steps"]
    assert header["prompt_tokens"] == first["prompt_tokens"]
    assert header["state"]["query"] == first["prompt_tokens"] - 1
    assert header["writing"]["steps"] == second["steps"]


def test_each_step_s_choices_are_the_model_s_own_probabilities(client, tiny_llama):
    found = write(client, model="writer", text=TEXT, off=[], count=2)
    ids = tiny_llama.encode([TEXT]).inputs["input_ids"]
    with torch.no_grad():
        expected = tiny_llama.model(input_ids=ids).logits[0, -1].softmax(-1)
    (best,) = tiny_llama.next_token(TEXT, n=1)
    choice = found["steps"][0]["choices"][0]
    assert choice["probability"] == pytest.approx(float(expected.max()), abs=1e-6)
    assert choice["token"] == best.token == found["steps"][0]["token"]


def test_writing_is_refused_with_a_sentence(client):
    assert "does not write" in write(client, model="tiny", text="a", off=[], count=2)["error"]
    assert "beginning" in write(client, model="writer", text=" ", off=[], count=2)["error"]
    assert "no longer kept" in write(client, writing="nothing", count=2)["error"]
    assert "`count`" in write(client, model="writer", text="a", off=[])["error"]


def test_a_reading_compared_with_itself_is_wholly_alike(client):
    one, two = read(client), read(client)
    found = client.post("/api/compare", json={"id": one["id"], "other": two["id"]}).json()
    assert found["change"] == pytest.approx([0.0] * 8, abs=1e-3)
    assert all([m["layer"], m["head"]] == m["to"] for m in found["matches"])
    assert "overlap" in found["note"]


def test_another_model_and_another_text_are_compared_too(client):
    one = read(client)
    other = read(client, model="writer")
    reply = client.post("/api/compare", json={"id": one["id"], "other": other["id"]})
    assert "no encoder attention" in reply.json()["error"]
    text = read(client, text="The dog ran to the house")
    found = client.post("/api/compare", json={"id": one["id"], "other": text["id"]}).json()
    assert "texts differ" in found["note"] and len(found["matches"]) == 8


def test_a_lesson_opens_the_head_that_has_most_of_what_it_is_about(tiny_bert):
    example = EXAMPLES[0]
    part = tiny_bert.read(example.text, example.text_pair).part()
    numbers = summary(part)
    lesson = lesson_for(example.text, example.text_pair, part, numbers)
    values = numbers[example.measure]
    assert values[lesson["layer"], lesson["head"]] == np.nanmax(values)
    assert lesson["says"] == (example.says if np.nanmax(values) >= CLEAR else example.unclear)
    assert lesson_for("another text", None, part, numbers) is None


def test_every_example_says_two_things_and_something_to_try():
    for example in EXAMPLES:
        assert example.says.count(".") + example.says.count(":") >= 2 and example.tries
        assert example.unclear or not example.measure or example.view == "text"


def test_induction_is_what_followed_an_earlier_copy(tiny_llama):
    part = tiny_llama.read("the cat sat the cat ran").part()
    ids = part.query.ids.tolist()
    weights = part.weights(1)[2]
    found = []
    for i, token in enumerate(ids):
        after = [j + 1 for j in range(i) if ids[j] == token]
        if after:
            found.append(sum(float(weights[i, j]) for j in after))
    assert induction(part)[1, 2] == pytest.approx(np.mean(found), abs=1e-6)


def test_a_model_is_offered_the_examples_that_make_sense_for_it(client):
    reply = client.get("/api/models").json()
    models = {each["id"]: each for each in reply["models"]}
    offered = {
        name: [reply["examples"][number]["title"] for number in entry["examples"]]
        for name, entry in models.items()
    }
    assert "a translation" in offered["pairs"] and "a translation" not in offered["tiny"]
    assert "let it write" in offered["writer"] and "two sentences" not in offered["writer"]
    assert offered["tiny"][0] == "two sentences"
    assert models["pairs"]["encoder_decoder"] and not models["tiny"]["encoder_decoder"]
    assert models["writer"]["writes"] and not models["tiny"]["writes"]


def test_a_head_s_strongest_pairs_are_the_largest_weights_between_words(client, tiny_bert):
    header = read(client, text="I went to the store", text_pair="the cat sat on the mat")
    facts = client.get(f"/api/reading/{header['id']}/head/encoder/1/3").json()
    part = tiny_bert.read("I went to the store", "the cat sat on the mat").part()
    weights = part.weights(1)[3] * part.key.content * part.query.content[:, None]
    assert facts["looks"][0]["weight"] == pytest.approx(float(weights.max()))
    for look in facts["looks"]:
        assert weights[look["query"], look["key"]] == pytest.approx(look["weight"])
    assert "special tokens" in facts["left_out"]


def test_a_lesson_names_no_side_of_the_screen():
    """Where a panel stands depends on the window."""
    for each in EXAMPLES:
        said = f"{each.says} {each.unclear} {each.tries}".lower()
        assert "on the right" not in said and "on the left" not in said, each.title
