"""Two models, or one with and without its heads, side by side in the app."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.test_app import address

__all__ = ["address"]
pytestmark = pytest.mark.browser

STATE = "element => ({...element.headscope.state})"


def states(page: Page) -> list[dict]:
    return [page.locator(name).evaluate(STATE) for name in (".app-view", ".app-other")]


def open_against(new_page, address: str, against: str, more: str = "") -> Page:
    page = new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    errors: list[str] = []
    page.goto(f"{address}/?model=tiny&text=the+cat+sat&against={against}{more}")
    for view in (".app-view", ".app-other"):
        page.locator(f"{view}.hs-ready").wait_for(state="attached")
        page.locator(view).evaluate("view => view.headscope.painted()")
    assert errors == []
    return page


def test_two_models_are_looked_at_together(new_page, address):
    page = open_against(new_page, address, "bundled")
    page.locator('.app-view button.chip[data-head="2"]').dblclick()
    page.keyboard.press("ArrowDown")
    page.locator('.app-other [data-side="query"][data-token="2"]').click()
    first, second = states(page)
    assert first == second
    assert (first["layer"], first["heads"], first["query"]) == (1, [2], 2)


def test_a_model_is_no_different_from_itself_and_differs_with_a_head_off(new_page, address):
    view = "&view=matrix&reading=difference&layer=1&heads=0&head=0"
    page = open_against(new_page, address, "bundled", view)
    legend = page.locator(".app-view .legend").first
    assert "this − other" in legend.inner_text()
    same = page.locator(".app-view .xv canvas").evaluate(PIXELS)
    assert same == 1, "the same model reads the same text alike: one colour everywhere"
    page = open_against(new_page, address, "all-on", f"{view}&off=encoder.1.0")
    differs = page.locator(".app-view .xv canvas").evaluate(PIXELS)
    assert differs > 1
    assert "every head on" in page.locator(".pair").inner_text()


# How many colours stand in the middle row of the map.
PIXELS = """canvas => {
  const context = canvas.getContext('2d');
  const {width, height} = canvas;
  const row = context.getImageData(width * 0.4, height * 0.7, width * 0.4, 1).data;
  const colours = new Set();
  for (let i = 0; i < row.length; i += 4) colours.add(row.slice(i, i + 3).join());
  return colours.size;
}"""


def test_models_of_different_depth_do_not_drag_each_other(new_page, address):
    page = open_against(new_page, address, "writer")
    page.locator(".app-view").evaluate("element => element.headscope.set({head: 3})")
    first, _ = states(page)
    assert first["head"] == 3
