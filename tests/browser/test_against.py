"""Two models, or one with and without its heads, side by side in the app."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page

from headscope.surfaces.app import Models
from headscope.surfaces.app.front import HEADERS, Front, Stage
from headscope.surfaces.app.guard import LOOPBACK, Application, Guard
from headscope.surfaces.app.server import routes_over
from headscope.surfaces.app.session import session_over
from tests.browser.looking import until
from tests.browser.serving import served
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


def test_tokens_of_the_two_sides_stand_at_one_height(new_page, address):
    page = open_against(new_page, address, "bundled")
    for width, height in ((1440, 900), (1920, 1080)):
        page.set_viewport_size({"width": width, "height": height})
        for at in (0, 4):
            token = f'[data-side="query"][data-token="{at}"]'
            assert until(page, lambda token=token: len(set(tops(page, token))) == 1)
        foots = [page.locator(f"{view} [data-status]") for view in (".app-view", ".app-other")]
        assert all((foot.bounding_box() or {})["y"] < height - 10 for foot in foots)


def tops(page: Page, token: str) -> list[int]:
    boxes = (page.locator(f"{view} {token}").bounding_box() for view in (".app-view", ".app-other"))
    return [round((box or {"y": -at})["y"]) for at, box in enumerate(boxes, 1)]


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


def test_two_models_of_the_command_open_compared_unless_a_link_says_otherwise(new_page, models):
    session = session_over(models)
    session.against = models.second

    def make(stage: Stage) -> Application:
        stage.doing = None
        return routes_over(session)

    with served(Guard(Front(make), LOOPBACK, HEADERS)) as where:
        page = new_page()
        page.goto(where)
        page.locator(".app-other.hs-ready").wait_for(state="attached")
        page.wait_for_url("**model=tiny**against=writer**")
        page.reload()
        page.locator(".app-other.hs-ready").wait_for(state="attached")
        page.goto(f"{where}/?text=the+cat+sat")
        page.locator(".app-view.hs-ready").wait_for()
        page.locator('[data-panel="facts"] .label-line').wait_for()
        assert page.locator(".app-other").count() == 0


def test_only_two_named_models_are_compared_at_once():
    assert Models(["one", "two"]).second == "two"
    assert Models(["one"]).second is None
    assert Models(["one", "two", "three"]).second is None
    assert Models(["bundled", "one"]).second == "one"


def test_what_changed_is_of_the_pair_in_the_titles(new_page, address):
    page = open_against(new_page, address, "another-text", "&against_text=a+dog+ran+to+it")
    panel = page.locator("section", has=page.get_by_role("heading", name="What changed"))
    panel, title = panel.last, page.locator('[data-side-title="other"]')
    for pairing in ("likeness", "number"):
        page.locator("[data-control=pairing]").select_option(pairing)
        for head in range(4):
            page.locator(".app-view").evaluate(f"view => view.headscope.set({{head: {head}}})")
            other = re.search(r"head (\d+-\d+)", title.inner_text())
            assert other
            told = re.compile(f"Head \\d+-{head} and {other[1]} of the other|has no head")
            panel.get_by_text(told).wait_for()
            if pairing == "likeness":
                likeness = title.inner_text().partition("likeness ")[2][:4]
                assert f"likeness {likeness}" in panel.inner_text()
