"""Neuron, matrix and model view and the head map: what a hand and a keyboard do with them."""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs
from headscope.errors import BadInput
from headscope.figures.style import description
from headscope.views import neuron
from tests.browser.looking import until

pytestmark = pytest.mark.browser
PAIR = ("I went to the store.", "At the store, I bought fresh strawberries.")


def tip(seen) -> str:
    return seen.tooltip().inner_text()


def middle_of(seen, selector: str) -> tuple[float, float, float, float]:
    box = seen.view().locator(selector).bounding_box()
    return box["x"], box["y"], box["width"], box["height"]


def test_a_cell_of_the_matrix_says_its_exact_weight(show, tiny_bert):
    reading = tiny_bert.read(*PAIR)
    seen = show(hs.matrix_view(reading, layer=1, head=2))
    x, y, width, height = middle_of(seen, ".xv canvas")
    seen.page.mouse.move(x + width / 2, y + height / 2)
    row = seen.view().locator('[role="tooltip"] .row')
    query, key = (int(row.get_attribute(f"data-{name}")) for name in ("query", "key"))
    weight = float(reading.part().weights(1)[2, query, key])
    assert float(row.get_attribute("data-weight")) == pytest.approx(weight, abs=1e-3)
    assert f"{weight:.3f}"[:4] in tip(seen)


def test_the_matrix_zooms_by_key_and_pans_by_drag(show, tiny_bert):
    seen = show(hs.matrix_view(tiny_bert.read(*PAIR), layer=0, head=0))
    x, y, width, height = middle_of(seen, ".xv canvas")
    centre = (x + width * 0.6, y + height * 0.6)

    def under_the_pointer() -> str:
        seen.page.mouse.move(centre[0] + 1, centre[1] + 1)
        seen.page.mouse.move(*centre)
        return tip(seen)

    seen.page.mouse.move(*centre)
    for _ in range(3):
        seen.page.keyboard.press("+")
    seen.painted()
    close = seen.pixels()
    before = under_the_pointer()
    seen.page.mouse.down()
    seen.page.mouse.move(centre[0] - 150, centre[1] - 150, steps=4)
    seen.page.mouse.up()
    seen.painted()
    assert under_the_pointer() != before
    seen.page.keyboard.press("0")
    seen.away()
    assert np.abs(seen.pixels() - close).max() > 50


def test_a_click_in_the_matrix_pins_a_pair_and_escape_lets_go(show, tiny_bert):
    seen = show(hs.matrix_view(tiny_bert.read(*PAIR), layer=0, head=0))
    x, y, width, height = middle_of(seen, ".xv canvas")
    seen.page.mouse.click(x + width * 0.6, y + height * 0.6)
    assert seen.state()["query"] is not None and seen.state()["key"] is not None
    seen.page.keyboard.press("Escape")
    assert seen.state()["query"] is None and seen.state()["key"] is None


def test_neurons_move_by_contribution_and_the_marked_ones_stay_marked(show, tiny_bert):
    seen = show(hs.neuron_view(tiny_bert.read(*PAIR), layer=1, head=2, query=4))
    before = seen.pixels()
    seen.control("sort").select_option("contribution")
    assert until(seen.page, lambda: np.abs(seen.pixels() - before).max() > 50)  # they move there
    seen.set(marked=[0, 1])
    seen.set(layer=0)
    assert seen.state()["marked"] == [0, 1], "set by hand, kept; the keys clear it"
    seen.page.keyboard.press("ArrowRight")
    assert seen.state()["marked"] == []


def test_the_value_step_is_what_the_weights_take_from_the_values(show, tiny_bert):
    """Screen and paper against numpy; the scores are a choice away."""
    reading = tiny_bert.read(*PAIR, keep=("weights", "q", "k", "v"))
    view = hs.neuron_view(reading, layer=1, head=2, query=4, shows="values")
    weights, v = reading.part().weights(1)[2, 4], reading.part().layer(1).v[2]
    output, size = weights @ v, np.linalg.norm(weights[:, None] * v, axis=1)
    paper = description(neuron.draw(reading, view.state))
    seen = show(view)
    for shown in (paper, seen.call("m.picture()")):
        np.testing.assert_allclose(shown["output"], output[:8], atol=2e-3)
        np.testing.assert_allclose(shown["size"], size[:8], atol=2e-3)
        np.testing.assert_allclose(shown["weight"], weights[:8], atol=1e-3)
    strip = seen.view().locator(".nv-steps")
    assert "α·v" in strip.inner_text()
    seen.set(shows="scores")
    assert until(seen.page, lambda: "q×k" in strip.inner_text())
    with pytest.raises(BadInput, match="v was not kept"):
        hs.neuron_view(tiny_bert.read(*PAIR), layer=1, head=2, shows="values")


def test_hovering_a_query_of_the_neuron_view_shows_its_rows_and_a_click_keeps_it(show, tiny_bert):
    reading = tiny_bert.read(*PAIR)
    seen = show(hs.neuron_view(reading, layer=1, head=2, query=4))
    seen.view().locator('[data-query="6"]').hover()
    seen.painted()
    weights = reading.part().weights(1)[2]
    row = seen.view().locator('[data-row="3"]')
    assert float(row.get_attribute("data-weight")) == pytest.approx(float(weights[6, 3]), abs=1e-3)
    seen.view().locator('[data-query="6"]').click()
    seen.away()
    assert seen.state()["query"] == 6
    assert float(row.get_attribute("data-weight")) == pytest.approx(float(weights[6, 3]), abs=1e-3)


def test_the_model_view_is_walked_by_arrows_and_opened_by_enter(show, tiny_bert):
    seen = show(hs.model_view(tiny_bert.read(*PAIR), labels=()))
    seen.set(layer=0, head=0)
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        seen.page.keyboard.press(key)
    seen.page.keyboard.press("Enter")
    seen.painted()
    state = seen.state()
    assert (state["view"], state["layer"], state["heads"]) == ("head", 1, [2])


def test_lines_and_maps_are_two_pictures_of_the_same_heads(show, tiny_bert):
    seen = show(hs.model_view(tiny_bert.read(*PAIR), labels=()))
    maps = seen.pixels()
    seen.control("thumbnails").select_option("lines")
    seen.painted()
    assert np.abs(seen.pixels() - maps).max() > 50
    assert seen.view().locator("[data-cell]").count() == 8


def test_a_double_click_isolates_a_token(show, tiny_bert):
    seen = show(hs.head_view(tiny_bert.read(*PAIR), layer=0, heads=[0], labels=()))
    seen.token("key", 3).click()
    seen.token("query", 2).dblclick()
    assert (seen.state()["query"], seen.state()["key"]) == (2, None)


def test_right_to_left_text_puts_its_queries_on_the_right(show, tiny_bert):
    seen = show(hs.head_view(tiny_bert.read(*PAIR), layer=0, heads=[0], labels=()))

    def left(side: str) -> float:
        return seen.token(side, 2).locator(".text").bounding_box()["x"]

    assert left("query") < left("key")
    seen.set(direction="rtl")
    assert left("query") > left("key")


def test_the_keys_are_listed_on_request_and_numbers_can_be_copied(show, tiny_bert):
    seen = show(hs.head_view(tiny_bert.read(*PAIR), layer=0, heads=[0], labels=()))
    seen.page.keyboard.press("?")
    seen.view().locator("[data-help]", has_text="find a token").wait_for()
    seen.page.keyboard.press("Escape")
    seen.view().locator("[data-help]").wait_for(state="detached")
    seen.token("query", 2).click()
    seen.page.keyboard.press("c")
    seen.view().locator("[data-status]", has_text="Copied").wait_for()


def test_keys_pressed_right_after_the_help_or_the_finder_are_not_lost(show, tiny_bert):
    # As a fast hand presses them: the second key before the first has been painted.
    seen = show(hs.head_view(tiny_bert.read(*PAIR), labels=()))
    seen.token("query", 2).hover()
    ready = """([key, wanted]) => new Promise((resolve) => {
        const root = document.querySelector("[data-headscope]").shadowRoot;
        new MutationObserver((_, watch) => {
            if (!root.querySelector(wanted)) return;
            watch.disconnect();
            resolve(root.querySelector(wanted + ":modal, " + wanted + " input:focus") !== null);
        }).observe(root, { childList: true, subtree: true });
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    })"""
    assert seen.page.evaluate(ready, ["?", "[data-help]"])
    seen.page.keyboard.press("Escape")
    seen.view().locator("[data-help]").wait_for(state="detached")
    assert seen.page.evaluate(ready, ["/", ".finder"])


def test_the_theme_button_goes_from_system_to_light_to_dark(show, tiny_bert):
    seen = show(hs.head_view(tiny_bert.read(*PAIR), labels=()), color_scheme="light")
    shades = []
    for _ in range(3):
        seen.control("theme").click()
        seen.painted()
        shades.append((seen.state()["theme"], int(seen.pixels()[200, 640].mean()) > 128))
    assert shades == [("light", True), ("dark", False), ("auto", True)]
