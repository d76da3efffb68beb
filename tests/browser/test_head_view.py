"""The head view does what its users know, and shows the numbers the model gave."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import expect

import headscope as hs
from headscope.figures.colour import head_colours
from headscope.reading.by_span import tokens_in
from tests.tiny import tiny_scope

pytestmark = pytest.mark.browser
PAIR = ("I went to the store.", "At the store, I bought fresh strawberries.")


@pytest.fixture(scope="module")
def reading(tiny_bert):
    return tiny_bert.read(*PAIR)


@pytest.fixture
def seen(show, reading):
    return show(hs.head_view(reading, layer=0, heads=[1], labels=()))


def on(seen) -> list[int]:
    return [head for head in range(4) if seen.chip(head).get_attribute("aria-pressed") == "true"]


def test_a_click_toggles_a_head_and_its_lines(seen):
    def ink() -> int:
        """Pixels between the two columns of tokens that are not paper."""
        left, right = seen.token("query", 5).bounding_box(), seen.token("key", 5).bounding_box()
        between = seen.pixels()[160:560, int(left["x"] + left["width"]) + 9 : int(right["x"]) - 9]
        return int((between.min(axis=-1) < 225).sum())

    seen.set(scale="sqrt")
    one = ink()
    seen.chip(3).click()
    seen.away()
    assert on(seen) == [1, 3]
    assert ink() > 1.2 * one  # its lines are there
    seen.chip(3).click()
    seen.chip(1).click()
    seen.away()
    assert on(seen) == []
    assert ink() < 0.1 * one


def test_a_double_click_keeps_a_head_alone_and_again_restores_all(seen):
    seen.chip(2).dblclick()
    seen.painted()
    assert on(seen) == [2]
    seen.chip(2).dblclick()
    seen.painted()
    assert on(seen) == [0, 1, 2, 3]


def test_hovering_a_token_shows_each_head_s_weight_on_the_other_side(seen, reading):
    seen.set(heads=[1, 3])
    seen.token("query", 4).hover()
    seen.painted()
    weights = reading.part().weights(0)
    bars = seen.view().locator(".bar[data-weight]")
    found = {}
    for bar in bars.all():
        token = bar.locator("xpath=ancestor-or-self::*[@data-token]").first
        place = (int(bar.get_attribute("data-head")), int(token.get_attribute("data-token")))
        found[place] = float(bar.get_attribute("data-weight"))
    strong = {(h, k) for h in (1, 3) for k in range(len(reading.tokens)) if weights[h, 4, k] > 0.01}
    assert strong <= set(found)
    for (head, key), weight in found.items():
        assert weight == pytest.approx(float(weights[head, 4, key]), abs=1e-3)


def test_the_tooltip_shows_the_captured_weight(seen, reading):
    seen.token("query", 4).click()
    seen.token("key", 7).hover()
    seen.painted()
    tip = seen.tooltip()
    expected = float(reading.part().weights(0)[1, 4, 7])
    assert float(tip.get_attribute("data-weight")) == pytest.approx(expected, abs=1e-3)
    assert f"{expected:.3f}"[:4] in tip.inner_text()


def test_a_key_can_be_taken_in_hand_too(seen, reading):
    seen.token("key", 7).hover()
    seen.painted()
    weights = reading.part().weights(0)[1, :, 7]
    tip = seen.tooltip()
    assert float(tip.get_attribute("data-weight")) == pytest.approx(float(weights.max()), abs=1e-3)


def test_a_click_pins_a_token_and_escape_lets_go(seen):
    whole = seen.status()
    seen.token("query", 5).click()
    seen.away()
    assert seen.state()["query"] == 5
    assert seen.status() != whole  # fewer lines are drawn, and the line under the picture says so
    seen.page.keyboard.press("Escape")
    seen.painted()
    assert seen.state()["query"] is None
    assert seen.status() == whole


def test_lines_drawn_and_mass_are_said_as_they_are(seen, reading):
    count = len(reading.tokens)
    assert f"of {count * count:,} lines" in seen.status()
    seen.set(minimum=0.5)
    strong = int((reading.part().weights(0)[1] >= 0.5).sum())
    assert f"showing {strong}" in seen.status()


@pytest.mark.parametrize("pair", ["aa", "ab", "ba", "bb"])
def test_the_sentence_filter_leaves_the_lines_between_the_named_sentences(seen, reading, pair):
    seen.control("filter").select_option(pair)
    seen.painted()
    part = reading.part()
    queries = part.query.segments == "ab".index(pair[0])
    keys = part.key.segments == "ab".index(pair[1])
    lines = int(queries.sum() * keys.sum())
    assert f"of {lines} lines" in seen.status() or f"all {lines} lines" in seen.status()
    seen.token("query", int(queries.argmax())).hover()
    seen.painted()
    shown = [int(bar.get_attribute("data-token")) for bar in with_bars(seen)]
    assert shown and all(keys[token] for token in shown)


def with_bars(seen) -> list:
    tokens = seen.view().locator('[data-side="key"][data-token]').all()
    return [token for token in tokens if token.locator(".bar").count()]


def test_special_tokens_can_be_hidden_and_rows_made_whole_again(seen, reading):
    specials = [at for at, name in enumerate(reading.part().query.classes) if name <= 2]
    assert seen.token("query", specials[0]).count() == 1
    seen.control("specials").select_option("hidden")
    seen.painted()
    assert seen.token("query", specials[0]).count() == 0
    seen.token("query", 3).hover()
    seen.painted()
    hidden = bar_sum(seen)
    seen.control("specials").select_option("renormalised")
    seen.token("query", 3).hover()
    seen.painted()
    expected = reading.part().weights(0)[1, 3, reading.part().key.content].sum()
    assert hidden == pytest.approx(float(expected), abs=0.01)
    assert bar_sum(seen) == pytest.approx(1.0, abs=0.01)


def bar_sum(seen) -> float:
    bars = seen.view().locator('.bar[data-head="1"]').all()
    return sum(float(bar.get_attribute("data-weight")) for bar in bars)


def test_words_replace_their_pieces(seen, reading):
    joined = int(reading.part().query.continues.argmax())  # ##berries
    assert seen.token("query", joined).count() == 1
    seen.control("unit").select_option("words")
    seen.painted()
    assert seen.token("query", joined).count() == 0
    assert "strawberries" in seen.token("query", joined - 1).inner_text()


def test_layers_change_by_slider_menu_and_arrow_keys(seen):
    assert seen.state()["layer"] == 0
    seen.page.keyboard.press("ArrowDown")
    seen.painted()
    assert seen.state()["layer"] == 1
    seen.control("layer-menu").select_option("0")
    seen.painted()
    assert seen.state()["layer"] == 0
    seen.control("layer").focus()
    seen.page.keyboard.press("ArrowRight")
    seen.painted()
    assert seen.state()["layer"] == 1


def test_arrows_move_between_heads_and_slash_finds_a_token(seen):
    seen.page.keyboard.press("ArrowRight")
    seen.painted()
    assert on(seen) == [2]
    seen.page.keyboard.press("/")
    seen.page.keyboard.type("bought")
    seen.page.keyboard.press("Enter")
    seen.painted()
    assert seen.state()["query"] == 13
    seen.page.keyboard.press("Escape")
    seen.page.keyboard.press("?")
    seen.view().locator("[data-help]").wait_for()


def test_tokens_can_lie_along_the_line(seen):
    first, last = seen.token("query", 0).bounding_box(), seen.token("query", 6).bounding_box()
    assert abs(first["x"] - last["x"]) < 120 and last["y"] > first["y"] + 60
    seen.control("orientation").select_option("horizontal")
    seen.painted()
    first, last = seen.token("query", 0).bounding_box(), seen.token("query", 6).bounding_box()
    assert abs(first["y"] - last["y"]) < 40 and last["x"] > first["x"] + 60


def test_every_control_can_be_reached_and_has_a_name(seen):
    nameless = seen.page.evaluate(
        """() => [...document.querySelector('[data-headscope]').shadowRoot
            .querySelectorAll('button, select, input, [role=button], [tabindex="0"]')]
            .filter(e => e.checkVisibility())
            .filter(e => !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby')
              || e.title || e.textContent.trim() || e.labels?.length))
            .map(e => e.outerHTML.slice(0, 120))"""
    )
    assert nameless == []
    seen.chip(0).focus()
    seen.page.keyboard.press("Space")
    seen.painted()
    assert on(seen) == [0, 1]


@pytest.mark.parametrize("head", [0, 5, 11])
def test_the_head_colours_of_the_page_are_those_of_the_figures(show, head):
    """A line of weight 1 has the head's own colour."""
    weights = np.zeros((1, 12, 3, 3), dtype=np.float32)
    weights[..., 0] = 1.0
    reading = hs.Reading.from_attention(weights, ["a", "cat", "sat"])
    seen = show(hs.head_view(reading, layer=0, heads=[head], labels=()))
    assert seen.coloured(head_colours(12)[head], 4) > 100


def test_documents_and_answer_have_headings_with_the_attention_they_get(show):
    messages = [{"role": "user", "content": "the cat sat ?"}]
    reading = tiny_scope("LlamaForCausalLM").read(
        messages=messages, documents=["a cat sat .", "the dog ran ."], answer="the cat ."
    )
    seen = show(hs.head_view(reading, layer=1, heads=[1]))
    expected = reading.by_span("document")[1, 1].mean("query")
    for name in ("document 1", "document 2"):
        heading = seen.page.locator(f'.hv-spans.key [data-span="{name}"]')
        expect(heading.locator("b")).to_have_text(name)
        written = float(heading.locator(".sum").inner_text())
        assert written == pytest.approx(float(expected.sel(span=name)), abs=1e-3)
    expect(seen.page.locator('.hv-spans.query [data-span="answer"]')).to_be_visible()
    row = int(np.flatnonzero(tokens_in(reading.part().query, reading.spans[-1]))[-1])
    seen.token("query", row).hover()
    one = reading.by_span("document").isel(layer=1, head=1, query=-1)
    sums = seen.page.locator('.hv-spans.key [data-span="document 1"] .sum')
    expect(sums).to_have_text(re.compile(f"{float(one.sel(span='document 1')):.3f}"))
