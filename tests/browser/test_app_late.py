"""Answers that come late in the app: what is seen until then says so and cannot be used."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.looking import until
from tests.browser.test_app import App, address, app

__all__ = ["address", "app"]
pytestmark = pytest.mark.browser


def held(page: Page, pattern: str) -> Callable[[], None]:
    """Keeps such requests back from now on; called, it lets them go."""
    waiting: list[Route] = []
    page.route(pattern, lambda route: waiting.append(route))

    def go() -> None:
        assert until(page, lambda: waiting), f"nothing asked for {pattern}"
        for route in waiting:
            route.continue_()
        page.unroute(pattern)

    return go


def panel(app: App, name: str):
    return app.page.locator(f'[data-panel="{name}"]')


def test_what_is_known_of_the_head_before_is_faint_and_cannot_be_clicked(app):
    app.read("the cat sat on the mat")
    expect(panel(app, "facts")).to_have_attribute("aria-busy", "false")
    go = held(app.page, "**/head/**")
    app.page.keyboard.press("ArrowRight")
    for name in ("looks", "why"):
        expect(panel(app, name)).to_have_class("stale")
        assert panel(app, name).evaluate("panel => panel.inert"), name
    go()
    expect(panel(app, "facts")).to_have_attribute("aria-busy", "false")
    assert not panel(app, "why").evaluate("panel => panel.inert")


def test_predictions_are_of_the_reading_on_screen_until_the_one_without_a_head_is_there(app):
    app.read("the cat sat on the [MASK]")
    expect(panel(app, "predictions")).to_have_attribute("aria-busy", "false")
    before = panel(app, "predictions").inner_text()
    go = held(app.page, "**/api/read")
    app.page.locator('[data-control="off"]').click()
    app.page.locator('.app-main[data-state="loading"]').wait_for()
    assert panel(app, "predictions").inner_text() == before
    go()
    expect(panel(app, "predictions")).to_contain_text("before → after")
    expect(panel(app, "predictions").locator("tr").first.locator("td")).to_have_count(2)


def test_a_figure_is_of_the_layer_on_screen_also_where_it_changes_under_the_open_menu(app):
    app.read("the cat sat on the mat")
    app.page.locator('[data-control="export"] summary').click()
    link = app.page.locator('[data-format="svg"]')
    for key in ("ArrowUp", "ArrowDown"):
        app.page.keyboard.press(key)
        layer = app.page.locator(".app-view").evaluate("view => view.headscope.state.layer")
        assert re.search(rf"[?&]layer={layer}(&|$)", str(link.get_attribute("href")))
    assert layer == 1 and app.errors == []
