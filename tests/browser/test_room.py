"""The app's room: boxes take what is free, few tokens fill the stage, a switch is by its head."""

from __future__ import annotations

import pytest

from tests.browser.looking import until
from tests.browser.test_app import address

__all__ = ["address"]
pytestmark = pytest.mark.browser


def opened(new_page, address: str, more: str, **size: int):
    page = new_page(viewport={"width": 1440, "height": 900, **size})
    page.goto(f"{address}/?model=tiny&{more}")
    page.locator(".app-view.hs-ready").wait_for()
    return page


def box(page, selector: str) -> dict[str, float]:
    found = page.locator(selector).first.bounding_box()
    return {**found, "right": found["x"] + found["width"], "bottom": found["y"] + found["height"]}


@pytest.mark.parametrize("width", [1920, 1440, 1280])
def test_the_text_boxes_take_the_free_room_of_the_header(new_page, address, width):
    page = opened(new_page, address, "text=the+cat+sat&pair=a+dog+ran", width=width)
    texts, read = box(page, ".texts"), box(page, '[data-control="read"]')
    link, theme = box(page, '[data-control="link"]'), box(page, '[data-control="theme"]')
    assert read["x"] - texts["right"] < 12
    assert theme["x"] - box(page, '[data-control="atlas"]')["right"] < 24, "no gap in the row"
    assert link["y"] == read["y"], "one row"


@pytest.mark.parametrize("width", [1920, 1440, 1024])
def test_a_switch_stands_nearer_to_its_own_head_than_to_the_next(new_page, address, width):
    page = opened(new_page, address, "text=the+cat+sat&layer=1&off=encoder.1.1", width=width)
    page.locator(".chip.off").wait_for()
    for head in range(3):
        chip, flip = box(page, f'.chip[data-head="{head}"]'), box(page, f'[data-flip="{head}"]')
        following = box(page, f'.chip[data-head="{head + 1}"]')
        assert 0 <= flip["x"] - chip["right"] < following["x"] - flip["right"], head


def test_the_rail_is_as_high_with_a_head_off(new_page, address):
    page = opened(new_page, address, "text=the+cat+sat&layer=1")
    page.locator(".chip canvas").first.wait_for()
    before = box(page, ".rail")["height"]
    page.locator('[data-flip="1"]').click()
    page.locator(".chip.off").wait_for()
    assert box(page, ".rail")["height"] == before


def test_the_map_of_a_few_tokens_fills_its_stage(new_page, address):
    page = opened(new_page, address, "text=the+cat+sat&view=matrix")
    assert until(
        page, lambda: box(page, ".xv canvas")["height"] > 0.6 * box(page, ".stage")["height"]
    )


def test_escape_closes_the_list_of_saved_states_and_leaves_the_selection(new_page, address):
    page = opened(new_page, address, "text=the+cat+sat&query=2")
    page.locator('[data-control="tour"]').click()
    page.locator('[data-control="tour-title"]').click()
    page.keyboard.press("Escape")
    page.locator("[data-tour]").wait_for(state="detached")
    assert page.locator(".app-view").evaluate("view => view.headscope.state.query") == 2


def test_the_caption_names_no_head_where_the_whole_model_is_shown(new_page, address):
    page = opened(new_page, address, "text=the+cat+sat&view=model")
    page.keyboard.press("P")
    caption = page.locator("[data-present] p")
    caption.wait_for()
    assert caption.inner_text().strip() == "model"
    page.locator(".app-view").evaluate("e => e.headscope.set({view: 'head', heads: [1, 2]})")
    assert until(page, lambda: caption.inner_text().startswith("head, heads"))


@pytest.mark.parametrize("width", [1440, 1024, 920])
def test_the_mark_of_a_head_that_is_off_is_left_of_its_switch(new_page, address, width):
    page = opened(new_page, address, "text=the+cat+sat&layer=1&off=encoder.1.1", width=width)
    page.locator(".chip.off .score").wait_for()
    off, flip = box(page, ".chip.off .score"), box(page, '[data-flip="1"]')
    assert off["right"] <= flip["x"]


def test_the_way_back_from_a_head_that_is_off_is_in_sight_on_a_phone(new_page, address):
    asked = "text=the+cat+sat+on+the+[MASK]&layer=1&off=encoder.1.1_encoder.1.2"
    page = opened(new_page, address, asked, width=390, height=844)
    page.locator("[data-difference]", has_text="%").wait_for()
    for control in ("all-on", "undo", "python"):
        found = box(page, f'.off-strip [data-control="{control}"]')
        assert found["x"] >= 0 and found["right"] <= 390, control


@pytest.mark.parametrize("size", [(1280, 800), (1440, 900), (390, 844)])
def test_a_sentence_is_shown_whole_in_its_box(new_page, address, size):
    width, height = size
    text = "the cat sat on the mat and a dog ran to the house".replace(" ", "+")
    page = opened(new_page, address, f"text={text}", width=width, height=height)
    cut = page.locator('[data-control="text"]').evaluate("e => e.scrollHeight - e.clientHeight")
    assert cut <= 1


def test_the_chip_of_the_open_head_is_in_sight_on_a_phone(new_page, address):
    page = opened(
        new_page, address, "text=the+cat+sat&layer=1&head=3&heads=3", width=390, height=844
    )
    assert until(page, lambda: box(page, '[data-flip="3"]')["right"] <= 390)
    page.locator(".app-view").evaluate("view => view.headscope.set({head: 0, heads: [0]})")
    assert until(page, lambda: box(page, '.chip[data-head="0"]')["x"] >= 0)


def test_a_head_s_label_is_whole_at_1440_pixels(new_page, address):
    page = opened(new_page, address, "text=the+cat+sat&layer=1")
    page.locator(".chip").first.wait_for()
    long = "b => b.insertAdjacentHTML('afterend', ' <span class=label>previous word</span>')"
    page.locator(".chip b").evaluate_all(f"all => all.forEach({long})")
    page.locator(".chips").evaluate("""rail => {
      for (let more = 0; more < 4; more++) rail.append(rail.children[more].cloneNode(true));
    }""")
    texts = page.locator(".chip > span:nth-of-type(2)")
    assert texts.count() == 8, "as many heads as the bundled model has"
    cut = texts.evaluate_all("all => all.map(each => each.scrollWidth - each.clientWidth)")
    tall = texts.evaluate_all("all => all.map(each => each.scrollHeight - each.clientHeight)")
    assert max(cut) <= 0 and max(tall) <= 1
