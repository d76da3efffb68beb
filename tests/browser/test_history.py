"""Back, Forward and reload: every step in the app can be gone back over, and reopened."""

from __future__ import annotations

import pytest

import headscope as hs
from headscope.surfaces.app import Models
from headscope.surfaces.app.front import HEADERS, Front
from headscope.surfaces.app.guard import LOOPBACK, Guard
from headscope.surfaces.app.server import routes_over
from headscope.surfaces.app.session import session_over
from tests.atlas.conftest import texts
from tests.browser.looking import display, until
from tests.browser.serving import served
from tests.browser.test_app import address
from tests.browser.test_walk import APP_HOST, Walker

__all__ = ["address"]
pytestmark = pytest.mark.browser


class Stepper(Walker):
    """Walks the app step by step, and remembers each."""

    def __init__(self, page, url: str) -> None:
        super().__init__(page, APP_HOST)
        page.goto(url)
        self.past: list[tuple[str, list[str]]] = []
        self.arrive("")

    def arrive(self, before: str) -> None:
        """Once the address has changed and the picture has come to rest, both are remembered."""
        assert until(self.page, lambda: self.page.url != before)
        seen = self.look()
        self.past.append((self.page.url, seen))

    def look(self) -> list[str]:
        ready = self.page.locator('.app-main[data-state="ready"] .app-view.hs-ready')
        ready.wait_for(state="attached")  # an atlas may lie over it
        self.page.wait_for_timeout(400)  # longer than the address takes to follow
        self.ask(f"headscopeWalk.settle({APP_HOST})")
        if self.page.locator(".app-atlas:not([hidden])").count():
            self.page.locator(".app-atlas .at-page h2").wait_for()
            return [self.page.locator(".app-atlas").inner_text()]
        assert until(self.page, lambda: not self.page.locator(".side .stale").count())
        fields = self.page.locator("textarea:not([data-control=tour-text]), select").filter(
            visible=True
        )
        boxes = [
            f"{box.get_attribute('data-control')}: {box.input_value()}" for box in fields.all()
        ]
        around = self.page.locator("[data-off], .side, .pair-name, .present-caption")
        words = around.all_inner_texts()
        return [self.ask(f"headscopeWalk.signature({APP_HOST})"), *boxes, *words]

    def step(self, act) -> None:
        before = self.page.url
        act()
        self.page.mouse.move(2, 2)
        self.arrive(before)

    def check(self, at: int) -> None:
        url, seen = self.past[at]
        assert until(self.page, lambda: self.page.url == url), (self.page.url, url)
        now = self.look()
        assert now == seen, (
            url,
            [pair for pair in zip(now, seen, strict=False) if len({*pair}) > 1],
        )
        assert self.page.url == url


def test_back_forward_and_reload_give_every_step_again(new_page, address):
    page = new_page(viewport={"width": 1440, "height": 900})
    walk = Stepper(page, f"{address}/?model=writer&text=the+cat+sat+on+the+mat")
    click = lambda selector: lambda: page.locator(selector).first.click()  # noqa: E731
    walk.step(lambda: page.keyboard.press("ArrowUp"))
    walk.step(click('.app-view button.chip[data-head="2"]'))
    walk.step(click('.dial [data-map="0-1"]'))
    walk.step(click('[data-side="query"][data-token="3"]'))
    for view in ("matrix", "prediction", "neuron", "text", "model", "head"):
        walk.step(click(f'[role="tab"][data-view="{view}"]'))
    walk.step(click('[data-flip="1"]'))
    walk.step(click('[data-flip="3"]'))
    walk.step(click('[data-control="all-on"]'))
    walk.step(click('[data-control="write"]'))
    page.locator('[data-control="write"]:has-text("write more")').wait_for()
    page.locator("textarea").first.fill("a dog ran to the house")
    walk.step(click('[data-control="read"]'))
    for at in reversed(range(len(walk.past) - 1)):
        page.go_back()
        walk.check(at)
    for at in range(1, len(walk.past)):
        page.go_forward()
        walk.check(at)
        if at > 2:
            page.reload()
            walk.check(at)
    assert walk.errors == []


@pytest.fixture(scope="module")
def with_atlas(tiny_bert, tiny_llama):
    scopes = {"tiny": tiny_bert, "writer": tiny_llama}
    models = Models(["tiny", "writer"], scopes=scopes)
    session = session_over(models, hs.atlas(tiny_bert, texts(12), top=4, progress=False))

    def make(stage):
        stage.doing = None
        return routes_over(session)

    with served(Guard(Front(make), LOOPBACK, HEADERS)) as where:
        yield where


def test_back_forward_and_reload_lead_over_atlas_comparison_edits_models_and_tours(
    new_page, with_atlas
):
    page = new_page(viewport={"width": 1440, "height": 900})
    walk = Stepper(page, f"{with_atlas}/?model=tiny&text=the+cat+sat+on+the+mat&layer=1&head=2")
    click = lambda selector: lambda: page.locator(selector).first.click()  # noqa: E731
    choose = lambda name, value: lambda: page.select_option(f"[data-control={name}]", value)  # noqa: E731

    def against_a_text():
        choose("against", "another-text")()
        page.locator('[data-control="against-text"]').fill("a dog ran to the house")
        page.locator('[data-control="against-text"]').press("Enter")

    def weight():
        number = page.locator('[data-control="weight"]')
        assert until(page, number.input_value)
        number.fill("0.9")
        number.press("Tab")

    def tour():
        page.locator('[data-control="tour"]').click()
        page.locator('[data-control="tour-save"]').click()
        page.locator('[data-control="tour-show"]').click()

    walk.step(click('[data-control="atlas"]'))
    display(page.locator(".app-atlas"))
    walk.step(choose("panels", "heads"))
    walk.step(click(".at-examples li .at-text"))
    walk.step(against_a_text)
    walk.step(choose("pairing", "likeness"))
    walk.step(choose("against", ""))
    walk.step(click('[role="tab"][data-view="prediction"]'))
    walk.step(click("[data-mask] button"))
    walk.step(
        lambda: (page.locator("[data-control=examples] summary").click(), click("[data-example]")())
    )
    walk.step(choose("model", "writer"))
    walk.step(click('[role="tab"][data-view="prediction"]'))
    walk.step(click('.pr-text [data-token="3"]'))
    walk.step(click('[role="tab"][data-view="matrix"]'))
    pinned = "view => view.headscope.set({query: 4, key: 1})"
    walk.step(lambda: page.locator(".app-view").evaluate(pinned))
    walk.step(weight)
    walk.step(click('[data-control="undo-edit"]'))
    walk.step(tour)
    walk.step(click('[data-control="leave-present"]'))
    for at in reversed(range(len(walk.past) - 1)):
        page.go_back()
        walk.check(at)
    for at in range(1, len(walk.past)):
        page.go_forward()
        walk.check(at)
        if at in (2, 4, 8, 12, 15, 17):  # atlas, comparison, mask, why, edit, tour
            page.reload()
            walk.check(at)
    assert walk.errors == []
