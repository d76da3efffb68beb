"""The bundled tour says what its pictures show."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest

import headscope as hs
from headscope.surfaces.tour import read_tour

STEPS = [(step, parse_qs(step.address)) for step in read_tour("bundled")]


@pytest.mark.parametrize(
    ("step", "state"), [pytest.param(*one, id=one[0].title) for one in STEPS if "query" in one[1]]
)
def test_a_step_names_the_selected_word_and_the_one_it_looks_at_most(step, state):
    part = hs.load().read(state["text"][0]).part()
    layer, head, query = (int(state[name][0]) for name in ("layer", "head", "query"))
    label = part.query.labels[query]
    assert (label if label.startswith("[") else f"“{label}”") in step.text
    if state["view"] != ["text"]:
        key = int(part.weights(layer)[head, query].argmax())
        assert f"“{part.query.labels[key]}”" in step.text


def test_a_step_about_a_switched_off_head_switches_it_off():
    off = [state for step, state in STEPS if "switched off" in step.text]
    assert [state["off"] for state in off] == [["encoder.2.6"]]
