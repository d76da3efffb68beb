"""The walk: every ordered pair of tabs, in app, page, widget and report, at three sizes and both
themes. It is made from the tabs there are, so that a new view is walked without being named."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

import headscope as hs
from headscope.studies.report import Report
from headscope.views import discover
from tests.browser.test_app import address
from tests.browser.test_widget import shown

__all__ = ["address"]
pytestmark = pytest.mark.browser
WALK = (Path(__file__).parent / "walk.js").read_text()
SIZES = [(1440, 900), (1024, 768), (390, 844)]
PAIR = ("I went to the store.", "At the store, I bought fresh strawberries.")
PAGE_HOST = "document.querySelector('[data-headscope]')"
APP_HOST = "document.querySelector('[data-headscope-app]').shadowRoot.querySelector('.app-view')"


def readings_views(found: list[str]) -> None:
    """Every view of the registry that a reading can fill has its tab."""
    assert {"head", "model", "neuron", "matrix"} <= set(found) <= set(discover())


class Walker:
    def __init__(self, page, host: str) -> None:
        self.page, self.host, self.errors = page, host, []
        page.on("response", self._note)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda said: said.type == "error" and self.errors.append(said.text))

    def _note(self, reply) -> None:
        if reply.status >= 400:
            self.errors.append(f"{reply.status} {reply.url}")

    def everywhere(self, frame=None, schemes=("light", "dark"), pairs=zip) -> None:
        """Walk at every size and in both themes; `itertools.product`: at every size in each."""
        problems = []
        ways = itertools.cycle(schemes) if pairs is zip else schemes
        for (width, height), scheme in pairs(SIZES, ways):
            self.page.set_viewport_size({"width": width, "height": height})
            self.page.emulate_media(color_scheme=scheme)
            found = self.ask(f"headscopeWalk.walk({self.host})", frame)
            readings_views(found["tabs"])
            assert found["steps"] == len(found["tabs"]) * (len(found["tabs"]) - 1)
            problems += [f"{width}×{height} {scheme} {one}" for one in found["problems"]]
        assert problems == []
        assert self.errors == []

    def ask(self, expression: str, frame=None):
        where = frame or self.page
        if not where.evaluate("'headscopeWalk' in globalThis"):
            where.evaluate(WALK)
        return where.evaluate(f"async () => {expression}")


def reading(scope):
    return scope.read(*PAIR)


def test_a_page_is_walked_and_its_address_reopens_each_picture(show, tiny_bert):
    seen = show(hs.head_view(reading(tiny_bert), layer=1, heads=[0], unit="words"))
    walker = Walker(seen.page, PAGE_HOST)
    walker.everywhere()
    for view in walker.ask(f"headscopeWalk.tabs({PAGE_HOST})"):
        walker.ask(f"headscopeWalk.go({PAGE_HOST}, '{view}')")
        seen.page.wait_for_url(f"**view={view}&**")
        before = walker.ask(f"headscopeWalk.signature({PAGE_HOST})")
        seen.page.reload()
        seen.ready()
        walker.ask(f"headscopeWalk.settle({PAGE_HOST})")
        assert walker.ask(f"headscopeWalk.signature({PAGE_HOST})") == before, view


def test_a_view_that_is_mounted_before_it_is_laid_out_fills_its_room_once_it_is(show, tiny_bert):
    view = hs.head_view(reading(tiny_bert), layer=1, heads=[0])
    hidden = view.html().replace("<div data-headscope>", "<div data-headscope hidden>")
    page = show(hidden, waiting=False).page
    page.evaluate(f"{PAGE_HOST}.headscope.painted()")
    page.evaluate(f"{PAGE_HOST}.hidden = false")
    walker = Walker(page, PAGE_HOST)
    walker.ask(f"headscopeWalk.settle({PAGE_HOST})")
    assert walker.ask(f"headscopeWalk.inspect({PAGE_HOST}, 'head')") == []
    tokens = page.locator('[data-side="key"][data-token]')
    assert tokens.count() == len(reading(tiny_bert).tokens)
    assert tokens.last.is_visible()
    right = page.locator(".tokens.key").bounding_box()
    left = page.locator(".tokens.query").bounding_box()
    middle = (left["x"] + right["x"] + right["width"]) / 2
    stage = page.locator(".stage").bounding_box()
    assert middle == pytest.approx(stage["x"] + stage["width"] / 2, abs=10)


def test_a_decoder_s_page_is_walked(show, tiny_llama):
    seen = show(hs.model_view(reading(tiny_llama)))
    Walker(seen.page, PAGE_HOST).everywhere(schemes=("dark",))


def test_a_widget_is_walked(new_page, tiny_bert):
    page, saved = shown(new_page, hs.head_view(reading(tiny_bert), layer=1, heads=[0]).widget())
    walker = Walker(page, "document.getElementById('cell')")
    walker.everywhere()
    assert saved[-1]["view"] in discover()


def test_a_report_s_views_are_walked(new_page, tiny_bert, tmp_path):
    report = Report("A report", "study", "tiny", "headscope study")
    section = report.section("Views", "Two views of one text.")
    section.view("one", hs.head_view(reading(tiny_bert), layer=0, heads=[1]))
    section.view("two", hs.model_view(reading(tiny_bert)))
    path = report.save(tmp_path / "report.html")
    page = new_page()
    walker = Walker(page, PAGE_HOST)
    page.goto(path.as_uri())
    for number, schemes in enumerate((("light", "dark"), ("light",))):
        page.locator("iframe").nth(number).scroll_into_view_if_needed()
        page.frame_locator("iframe").nth(number).locator(".hs-ready").wait_for()
        walker.everywhere(page.frames[1 + number], schemes)


@pytest.mark.parametrize("pairs", [zip, pytest.param(itertools.product, marks=pytest.mark.slow)])
def test_the_app_is_walked_and_its_address_reopens_each_picture(new_page, address, pairs):
    page = new_page()
    walker = Walker(page, APP_HOST)
    page.goto(f"{address}/?model=tiny&text=the+cat+sat+on+the+[MASK]&pair=a+dog+ran")
    page.locator(".app-view.hs-ready").wait_for()
    walker.everywhere(pairs=pairs)
    for view in walker.ask(f"headscopeWalk.tabs({APP_HOST})"):
        walker.ask(f"headscopeWalk.go({APP_HOST}, '{view}')")
        page.wait_for_url(f"**view={view}&**")
        before = walker.ask(f"headscopeWalk.signature({APP_HOST})")
        page.reload()
        page.locator(".app-view.hs-ready").wait_for()
        walker.ask(f"headscopeWalk.settle({APP_HOST})")
        assert walker.ask(f"headscopeWalk.signature({APP_HOST})") == before, view


LONG = "the+cat+sat+on+the+mat+and+a+dog+ran+to+the+house+" * 8


@pytest.mark.parametrize("asked", ["", f"&text={LONG}", f"&text={LONG}&off=encoder.1.1"])
def test_the_picture_covers_three_fifths_of_the_window(new_page, address, asked):
    page = new_page()
    page.goto(f"{address}/?model=tiny{asked}")
    page.locator(".app-view.hs-ready").wait_for()
    walker = Walker(page, APP_HOST)
    short = {}
    for width, height in ((1440, 900), (1024, 768), (1920, 1080)):
        page.set_viewport_size({"width": width, "height": height})
        for view in walker.ask(f"headscopeWalk.tabs({APP_HOST})"):
            walker.ask(f"headscopeWalk.go({APP_HOST}, '{view}')")
            covers = walker.ask(f"headscopeWalk.covers({APP_HOST})")
            if covers < 0.6:
                short[f"{view} {width}×{height}"] = covers
    assert short == {}
    assert walker.errors == []


def test_what_cannot_be_shown_is_said_without_an_error(new_page, address):
    page = new_page()
    walker = Walker(page, APP_HOST)
    page.goto(f"{address}/?model=nosuch&text=the+cat+sat")
    page.get_by_text("This app has no model nosuch").wait_for()
    page.locator('.card[data-model="tiny"]').click()
    page.locator(".app-view.hs-ready").wait_for()
    before = walker.ask(f"headscopeWalk.signature({APP_HOST})")
    page.locator("textarea").first.fill("")
    page.locator("textarea").first.press("Enter")
    page.get_by_text("type a text to read").wait_for()
    assert walker.ask(f"headscopeWalk.signature({APP_HOST})") == before
    walker.ask(f"headscopeWalk.go({APP_HOST}, 'prediction')")
    page.locator(".app-view .message").wait_for()
    page.locator("textarea").first.fill("cat " * 300)
    page.locator("textarea").first.press("Enter")
    page.locator('[data-control="truncate"]').click()
    page.locator('.app-main[data-state="ready"]').wait_for()
    page.wait_for_url("**truncate=true**")
    assert walker.errors == []


SMALLEST = 11  # pixels
# Also what is drawn: canvases get their text from fillText, in device pixels.
DRAWN = """() => {
  globalThis.drawnText = [];
  const draw = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    const grown = this.getTransform();
    const size = parseFloat(this.font.match(/([\\d.]+)px/)[1]) * Math.hypot(grown.b, grown.d);
    globalThis.drawnText.push([size / devicePixelRatio, 'drawn: ' + text]);
    return draw.call(this, text, ...rest);
  };
}"""
SIZES_OF_TEXT = """() => {
  const found = globalThis.drawnText.splice(0);
  const look = (root) => {
    for (const each of root.querySelectorAll('*')) {
      if (each.shadowRoot) look(each.shadowRoot);
      const own = [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
      const typed = each.matches('input, textarea, select');
      if (!own && !typed || each.closest('.sr, option, script, style, noscript')) continue;
      if (!each.checkVisibility({ visibilityProperty: true })) continue;
      const grown = each.closest('svg') ? each.getScreenCTM() : { b: 0, d: 1 };
      const size = parseFloat(getComputedStyle(each).fontSize) * Math.hypot(grown.b, grown.d);
      const name = each.tagName + '.' + each.getAttribute('class');
      found.push([size, name + ': ' + each.textContent.trim().slice(0, 40)]);
    }
  };
  look(document);
  return found;
}"""


def test_no_text_of_the_app_is_smaller_than_eleven_pixels(new_page, address):
    page = new_page(viewport={"width": 1440, "height": 900})
    page.add_init_script(f"({DRAWN})()")
    page.goto(f"{address}/?model=tiny&text=the+cat+sat+on+the+[MASK]&pair=a+dog+ran&query=2")
    walker = Walker(page, APP_HOST)
    page.locator('[data-panel="facts"][aria-busy="false"]').wait_for()
    seen: dict[str, list[tuple[float, str]]] = {}
    for view in walker.ask(f"headscopeWalk.tabs({APP_HOST})"):
        walker.ask(f"headscopeWalk.go({APP_HOST}, '{view}')")
        walker.ask(f"headscopeWalk.settle({APP_HOST})")
        seen[view] = page.evaluate(SIZES_OF_TEXT)
    opened = {"help": "[data-help]", "export summary": "[data-format]", "tour": "[data-tour]"}
    for menu, there in opened.items():
        name, _, part = menu.partition(" ")
        page.locator(f'[data-control="{name}"] {part}').first.click()
        page.locator(there).first.wait_for()
        seen[menu] = page.evaluate(SIZES_OF_TEXT)
        page.keyboard.press("Escape")
    assert all(len(found) > 20 for found in seen.values()), "the texts were found"
    assert any("drawn" in name for _, name in seen["neuron"]), "and those on canvases"
    small = {(view, *each) for view, found in seen.items() for each in found if each[0] < SMALLEST}
    assert small == set()


def test_stylesheets_ask_for_at_most_six_sizes_and_none_under_eleven_pixels():
    sheets = sorted((Path(__file__).parents[2] / "web" / "src").rglob("*.css"))
    sizes = [
        (sheet.name, float(size))
        for sheet in sheets
        for size in re.findall(r"font(?:-size)?:[^;{}]*?([\d.]+)px", sheet.read_text())
    ]
    assert len(sizes) > 40
    assert [each for each in sizes if each[1] < SMALLEST] == []
    assert len({size for _, size in sizes}) <= 6
