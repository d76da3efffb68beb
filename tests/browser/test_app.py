"""The app in a browser: type, read, look, switch off, link, in two windows at once."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator

import pytest

from headscope.surfaces.app import Models, create_app
from tests.browser.looking import until
from tests.browser.serving import served

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(models: Models) -> Iterator[str]:
    """A real server on loopback."""
    with served(create_app(models)) as where:
        yield where


class App:
    def __init__(self, page, url: str) -> None:
        self.page = page
        self.errors: list[str] = []
        self.foreign: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self._note(request.url, url))
        page.goto(url)
        self.wait()

    def _note(self, asked: str, url: str) -> None:
        home = "/".join(url.split("/")[:3])
        if not asked.startswith((home, "data:", "blob:")):
            self.foreign.append(asked)

    def wait(self) -> None:
        """Until what was asked for last is on screen."""
        self.page.locator('.app-main[data-state="ready"] .app-view.hs-ready').wait_for()
        self.page.locator(
            '[data-side="query"][data-token="1"], [data-cell], [data-row]'
        ).first.wait_for()

    def tokens(self) -> list[str]:
        found = self.page.locator('[data-side="query"][data-token] .text')
        return [text.strip() for text in found.all_inner_texts()]

    def read(self, text: str, pair: str = "") -> None:
        boxes = self.page.locator("input[type=text], textarea").filter(visible=True)
        boxes.nth(0).fill(text)
        boxes.nth(1).fill(pair)
        with self.page.expect_response(lambda reply: reply.url.endswith("/api/read")):
            self.page.get_by_role("button", name="read", exact=True).click()
        self.wait()


@pytest.fixture
def app(new_page, address) -> App:
    return App(new_page(), address)


def test_the_app_opens_with_a_picture_and_talks_to_nobody_else(app):
    assert len(app.tokens()) > 5
    assert app.errors == [] and app.foreign == []


def test_a_typed_sentence_is_read(app):
    app.read("the cat sat on the mat", "a dog ran")
    assert app.tokens()[1:3] == ["the", "cat"]


def test_a_link_reopens_the_same_picture(app, new_page):
    app.read("the cat sat on the mat", "a dog ran")
    app.page.locator('button.chip[data-head="3"]').dblclick()
    app.page.keyboard.press("ArrowDown")
    app.page.locator('[data-side="query"][data-token="2"]').click()
    app.page.locator('[data-control="theme"]').first.click()
    app.page.wait_for_url(re.compile("query=2.*theme=|theme=.*query=2"))
    again = App(new_page(), app.page.url)
    again.page.locator('button.chip[data-head="3"][aria-pressed="true"]').wait_for()
    assert "layer=1" in app.page.url
    assert again.tokens() == app.tokens()
    assert again.page.locator('button.chip[aria-pressed="true"]').count() == 1
    assert until(app.page, lambda: again.page.url == app.page.url), (again.page.url, app.page.url)


def test_two_windows_keep_their_own_readings(app, new_page, address):
    other = App(new_page(), address)
    app.read("the cat sat")
    other.read("a dog ran")
    app.page.keyboard.press("ArrowDown")  # fetches a layer of its own reading
    app.page.locator(".app-view").evaluate("view => view.headscope.painted()")
    assert "cat" in app.tokens() and "dog" in other.tokens()
    assert app.errors == [] and other.errors == []


def test_a_text_that_is_too_long_is_answered_with_a_sentence(app):
    boxes = app.page.locator("input[type=text], textarea").filter(visible=True)
    boxes.nth(0).fill("cat " * 300)
    boxes.nth(1).fill("")
    app.page.get_by_role("button", name="read", exact=True).click()
    app.page.get_by_text("302").first.wait_for()
    assert app.errors == []


def test_another_model_can_be_chosen_and_a_head_switched_off(app):
    menu = app.page.locator("select").filter(has=app.page.locator('option[value="writer"]')).first
    with app.page.expect_response(lambda reply: reply.url.endswith("/api/read")):
        menu.select_option("writer")
    app.wait()
    switch = app.page.locator('[data-control="off"]')
    with app.page.expect_response(lambda reply: reply.url.endswith("/api/read")) as answered:
        switch.click()
    assert answered.value.ok
    assert app.errors == []


def test_a_reading_that_waits_shows_its_place_and_can_be_cancelled(app, models: Models) -> None:
    before = app.tokens()
    go, waiting = threading.Event(), threading.Event()

    def other_reader() -> None:
        with models.lock(models.default):
            waiting.set()
            go.wait(200)

    others = [threading.Thread(target=other_reader) for _ in range(2)]
    others[0].start()
    assert waiting.wait(60)
    others[1].start()
    try:
        boxes = app.page.locator("input[type=text], textarea").filter(visible=True)
        boxes.nth(0).fill("a dog ran to the house")
        app.page.get_by_role("button", name="read", exact=True).click()
        queue = app.page.locator(".queue[data-before]")
        queue.wait_for()
        assert queue.locator("span").inner_text() == "2 readings run before this one."
        with app.page.expect_response(lambda reply: "/api/cancel" in reply.url) as answer:
            queue.locator("[data-control=cancel]").click()
        asked = answer.value.request.post_data_json
        queue.wait_for(state="hidden")
        place = f"api/queue/{asked['ticket']}"
        app.page.wait_for_function(
            "async place => (await (await fetch(place)).json()).before === null", arg=place
        )  # out of the queue, whether the request was taken back or its end was noticed first
    finally:
        go.set()
        for other in others:
            other.join(60)
    assert app.tokens() == before  # what was on screen stays
    app.read("a dog ran to the house")  # and the model is free again
    assert "dog" in app.tokens() and app.errors == []


def test_a_link_to_a_model_that_the_app_has_not_says_so_and_opens_no_other(new_page, address):
    page = new_page()
    page.goto(f"{address}/?model=nosuch&text=the+cat")
    page.get_by_text("This app has no model nosuch").wait_for()
    assert page.locator('[data-side="query"]').count() == 0
