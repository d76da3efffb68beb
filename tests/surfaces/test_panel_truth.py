"""No sentence of the panel is false: each number and label is a survey's of the same text."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import headscope as hs
from headscope.measures import every
from headscope.patterns.as_statistics import of_pattern
from headscope.patterns.pattern import patterns as known_patterns
from headscope.statistics import Statistic
from headscope.surfaces.app import Models, create_app
from tests.views.decoding import Container

WORDS = Path(__file__).parents[2] / "README.md"
REAL = ["minilm", "smollm2"]
TWICE = "The quick fox saw the old owl. Later the quick fox saw the old owl."


def text_of(scope: hs.Scope, tokens: int) -> str:
    """The beginning of a text of ours, of about so many tokens, or as many as the model reads: a
    survey would go on with the rest in a second piece."""
    words = WORDS.read_text("utf-8").split() * 4
    ratio = len(scope.tokenizer(" ".join(words[:400]), verbose=False)["input_ids"]) / 400
    words = words[: int(tokens / ratio)]
    while len(scope.tokenizer(" ".join(words), verbose=False)["input_ids"]) > scope.max_tokens:
        words = words[: -max(1, len(words) // 40)]
    return " ".join(words)


def panel(scope: hs.Scope, text: str, off: tuple[tuple[str, int, int], ...] = ()):
    known = Models(["model"], scopes={"bundled": scope, "model": scope})
    client = TestClient(create_app(known), base_url="http://localhost:8313")
    body = {"model": "model", "text": text, "text_pair": None, "off": off, "truncate": True}
    reply = client.post("/api/read", json=body)
    assert reply.status_code == 200, reply.text
    container = Container(reply.content)

    def facts(kind: str, layer: int, head: int) -> dict:
        found = client.get(f"/api/reading/{container.header['id']}/head/{kind}/{layer}/{head}")
        return found.json()

    return container, facts


def surveyed(scope: hs.Scope, text: str) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Everything a survey finds of this text alone, and what attending evenly would score.

    Patterns that a survey reads on repeated random tokens are asked of the text, as the panel does.
    """
    kind = scope.kinds[0]
    causal = kind == "decoder"
    statistics: list[Statistic] = [
        one
        for each in every().values()
        if each.of_one_text
        and each.origin == "statistic"
        and isinstance(one := each.computed_by, Statistic)
        and one.applies(kind, causal)
    ]
    for pattern in known_patterns().values():
        if not pattern.needs_likeness and pattern.applies(causal):
            score, uniform, *_ = of_pattern(dataclasses.replace(pattern, source="corpus"))
            statistics += [score(), uniform()]
    survey = hs.survey(scope, [text], statistics, progress=False)
    found = {name: survey.map(name) for name in survey.measures}
    even = {name.split(":")[0]: found.pop(name) for name in list(found) if ":uniform" in name}
    return found, even


class Truth:
    """What a survey of the text knows, asked as the panel says it."""

    def __init__(self, scope: hs.Scope, text: str) -> None:
        self.found, self.even = surveyed(scope, text)
        self.patterns = known_patterns()
        self.title = {each.title: each.name for each in every().values()}

    def number(self, name: str, value: float, layer: int, head: int) -> None:
        expected = float(self.found[name][layer, head])
        assert value == pytest.approx(expected, abs=1e-3), (name, layer, head)

    def large(self, name: str, layer: int, head: int) -> bool:
        pattern, score = self.patterns[name], float(self.found[name][layer, head])
        lift = score / float(self.even[name][layer, head])
        return score >= pattern.least_score and (np.isnan(lift) or lift >= pattern.least_lift)


def check_facts(truth: Truth, found: dict[str, Any], layer: int, head: int) -> None:
    """Every number, label and sentence of one head."""
    for one in found["statistics"]:
        truth.number(truth.title[one["name"]], one["value"], layer, head)
    told = {truth.title[one["name"]] for one in found["statistics"]}
    measured = {name for name in truth.found if np.isfinite(truth.found[name][layer, head])}
    assert told == measured - truth.even.keys(), "a number is left out, or was not measured"
    shown = {truth.title[one["name"]] for one in found["patterns"]}
    defined = {name for name in truth.even if np.isfinite(truth.found[name][layer, head])}
    assert shown == defined, "a pattern is left out, or one is shown that was not measured"
    for one in found["patterns"]:
        name = truth.title[one["name"]]
        truth.number(name, one["score"], layer, head)
        even = float(truth.even[name][layer, head])
        assert one["lift"] == pytest.approx(one["score"] / even, rel=1e-3), (name, layer, head)
        if one["labelled"] and "sink" not in one["evidence"]:
            assert truth.large(name, layer, head), (name, layer, head)
    labelled = {one["name"]: one for one in found["patterns"] if one["labelled"]}
    sinks = {name for name, one in labelled.items() if one["rests"]}
    assert (found["label"] is None) == (not labelled.keys() - sinks), "a sink is no name"
    assert (found["sink"] is None) == (not sinks)
    if found["label"] is not None:
        assert found["evidence"] == labelled[found["label"]]["evidence"]
        if "sink" not in found["evidence"]:
            truth.number(truth.title[found["label"]], found["score"], layer, head)
    assert (found["why"] is None) == bool(found["why_not"])
    assert ("No pattern stands out" in (found["why_not"] or "")) == (not labelled)


def check_support(reading: hs.Reading, found: dict[str, Any], layer: int, head: int) -> None:
    """The queries behind "previous word" and "itself", counted on the map."""
    part = reading.part()
    weights = part.layer(layer).head_weights(slice(head, head + 1), slice(None))[0]
    words = part.query.content & (part.query.segments == part.query.segments[0])
    for one in found["patterns"]:
        back = {"previous word": 1, "itself": 0}.get(one["name"])
        if back is None or "sink" in one["evidence"]:
            continue
        asked = [i for i in range(back, len(words)) if words[i] and words[i - back]]
        # the first word of a causal text has no choice
        asked = [i for i in asked if not part.causal or part.query.content[: i + 1].sum() > 1]
        shown = sum(bool(weights[i, i - back] >= 0.4) for i in asked)
        if len(asked) >= 4:
            assert one["evidence"] == f"{shown} of {len(asked)} queries of this text", (layer, head)


def check_looks(reading: hs.Reading, found: dict[str, Any], layer: int, head: int) -> None:
    """What it looks at most: the strongest weight there is among the pairs that may be shown."""
    part = reading.part()
    weights = part.layer(layer).head_weights(slice(head, head + 1), slice(None))[0]
    content = np.outer(part.query.content, part.key.content)
    if part.causal:
        content[:, 0] = False
    strongest = np.where(content, weights, 0).max()
    assert found["looks"][0]["weight"] == pytest.approx(float(strongest), abs=1e-3)
    for one in found["looks"]:
        assert one["weight"] == pytest.approx(float(weights[one["query"], one["key"]]), abs=1e-3)


def check(scope: hs.Scope, tokens: int) -> None:
    """The head map's every column and the labels of all heads; the panel of heads of every depth.

    Every number that a survey finds, to 1e-3, and labels to the letter.
    """
    text = text_of(scope, tokens)
    container, facts = panel(scope, text)
    header = container.header
    part, truth = header["parts"][0], Truth(scope, text)
    assert part["layers"] == list(range(len(part["layers"])))
    for column in header["table"]["columns"]:
        values = container.array(column)
        # single precision: a distance of hundreds of tokens has seven digits
        expected = truth.found[column["name"]]
        np.testing.assert_allclose(values, expected, atol=1e-3, rtol=1e-5)
    labels = {(one["layer"], one["head"]): one for one in part["labels"]}
    assert len(labels) == len(part["labels"])
    places = [(layer, head) for layer in part["layers"] for head in range(part["heads"])]
    for each, label in labels.items():
        name = truth.title[label["text"]]
        assert "sink" in label["evidence"] or truth.large(name, *each), (label, each)
    opened = (header["state"]["layer"], header["state"]["head"])
    named, last = next(iter(labels), opened), places[-1]
    unnamed = next((each for each in places if each not in labels), opened)
    reading = scope.read(text, truncate=True, keep=("q", "k"))
    asked = dict.fromkeys([opened, places[0], named, unnamed, last])
    for layer, head in asked:
        found = facts(part["kind"], layer, head)
        check_facts(truth, found, layer, head)
        check_looks(reading, found, layer, head)
        if tokens <= 200:  # a longer text is tested on some of its queries
            check_support(reading, found, layer, head)


@pytest.mark.parametrize("tokens", [20, 100])
@pytest.mark.parametrize("name", ["tiny_bert", "tiny_llama"])
def test_the_panel_of_a_tiny_model_says_what_a_survey_finds(name, tokens, request):
    check(request.getfixturevalue(name), tokens)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("tokens", [20, 200, 2000])
@pytest.mark.parametrize("name", REAL)
def test_the_panel_says_what_a_survey_of_the_same_text_finds(name, tokens, request):
    check(request.getfixturevalue(name), tokens)


@pytest.mark.parametrize(
    "name", [None, *(pytest.param(each, marks=pytest.mark.slow) for each in REAL)]
)
def test_no_percentage_of_the_panel_exceeds_100(name, request):
    scope = request.getfixturevalue(name) if name else hs.load()
    container, facts = panel(scope, TWICE)
    (part,) = container.header["parts"]
    said = "".join(
        str(facts(part["kind"], layer, head)["why"])
        for layer in part["layers"]
        for head in range(part["heads"])
    )
    assert max(int(each) for each in re.findall(r"(\d+)%", said)) <= 100
    assert max(float(each) for each in re.findall(r"'share': ([-\d.e]+)", said)) <= 1


def test_a_head_that_is_off_is_not_called_what_it_is_over_a_corpus():
    for off in ((), (("encoder", 2, 6),)):
        container, facts = panel(hs.load(), "The cat chased the mouse.", off)
        named = {(one["layer"], one["head"]) for one in container.header["parts"][0]["labels"]}
        found = facts("encoder", 2, 6)
        assert ((2, 6) in named) is not bool(off)
        assert found["label"] == (None if off else "previous word")
        # the corpus was read with every head on, so its label goes with the edit
        assert (found["corpus"] and found["corpus"]["label"]) == (None if off else "previous word")
