"""No sentence of the panel is false: each number and label is a survey's of the same text."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

import headscope as hs
from headscope import patterns
from headscope.measures import every
from headscope.surfaces.app import Models, create_app
from tests.views.decoding import Container

WORDS = Path(__file__).parents[2] / "README.md"
BESIDES = ("induction_head", "duplicate_head")  # a survey reads those on repeated random tokens


def text_of(scope: hs.Scope, tokens: int) -> str:
    """The beginning of a text of ours, of about so many tokens."""
    words = WORDS.read_text("utf-8").split() * 4
    ratio = len(scope.tokenizer(" ".join(words[:400]), verbose=False)["input_ids"]) / 400
    return " ".join(words[: int(tokens / ratio)])


def panel(scope: hs.Scope, text: str):
    known = Models(["model"])
    known._scopes = {"bundled": scope, "model": scope}
    client = TestClient(create_app(known), base_url="http://localhost:8313")
    body = {"model": "model", "text": text, "text_pair": None, "off": [], "truncate": True}
    reply = client.post("/api/read", json=body)
    assert reply.status_code == 200, reply.text
    header = Container(reply.content).header

    def facts(kind: str, layer: int, head: int) -> dict:
        return client.get(f"/api/reading/{header['id']}/head/{kind}/{layer}/{head}").json()

    return header, facts


def check(scope: hs.Scope, tokens: int) -> int:
    """Some heads of every depth: numbers to 1e-3, labels to the letter. How many were compared."""
    text = text_of(scope, tokens)
    header, facts = panel(scope, text)
    part = header["parts"][0]
    standard = hs.survey(scope, ["a b"], progress=False).measures
    names = [each for each in patterns.measures(scope) if each.name.split(":")[0] not in BESIDES]
    if tokens > 1000:  # a pattern's yardsticks take as long as all the rest of a long text
        names = [each for each in names if each.name in ("previous_word", "sink", "self_word")]
    survey = hs.survey(scope, [text], [*standard, *names], progress=False)
    true = {name: survey.map(name) for name in survey.measures}
    titles = {m.title: m.name for m in every().values() if m.origin == "statistic"}
    by_label = {pattern.label: name for name, pattern in patterns.patterns().items()}
    opened = (header["state"]["layer"], header["state"]["head"])
    compared = 0
    for layer, head in {opened, (0, 0), (part["layers"][-1], part["heads"] - 1)}:
        found = facts(part["kind"], layer, head)
        for one in found["statistics"]:
            name = titles[one["name"]]
            if name in true:
                expected = float(true[name][part["layers"].index(layer), head])
                assert one["value"] == pytest.approx(expected, abs=1e-3), (name, layer, head)
                compared += 1
        for one in found["patterns"]:
            name = by_label[one["name"]]
            if name in true:
                expected = float(true[name][part["layers"].index(layer), head])
                assert one["score"] == pytest.approx(expected, abs=1e-3), (name, layer, head)
                compared += 1
        best = max(
            (one for one in found["patterns"] if one["labelled"]),
            key=lambda one: one["score"],
            default=None,
        )
        assert found["label"] == (best["name"] if best else None)
        assert (found["why"] is None) == bool(found["why_not"])
        if found["label"] is None and found["patterns"]:
            assert "No pattern stands out" in found["why_not"]
    return compared


@pytest.mark.parametrize("tokens", [20, 100])
@pytest.mark.parametrize("name", ["tiny_bert", "tiny_llama"])
def test_the_panel_of_a_tiny_model_says_what_a_survey_finds(name, tokens, request):
    assert check(request.getfixturevalue(name), tokens) >= 20


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("tokens", [20, 200, 2000])
@pytest.mark.parametrize("name", ["minilm", "smollm2"])
def test_the_panel_says_what_a_survey_of_the_same_text_finds(name, tokens, request):
    assert check(request.getfixturevalue(name), tokens) >= 20
