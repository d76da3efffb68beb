"""Typing in the app: counted while it is typed, read only when asked, never cut in silence."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.test_app import App, address, app

__all__ = ["address", "app"]
pytestmark = pytest.mark.browser


def box(app: App):
    return app.page.locator('[data-control="text"]')


def said(app: App) -> str:
    return app.page.locator("#count").inner_text()


def test_tokens_are_counted_against_the_limit_while_one_types(app):
    app.page.locator('[data-control="text-pair"]').fill("")
    box(app).fill("the cat sat on the mat")
    app.page.locator('[data-tokens="8"]', has_text="8 of 128 tokens").wait_for()
    expect(app.page.locator("#count")).to_contain_text("changed: press read")


def test_text_that_was_typed_but_not_read_goes_nowhere(app):
    app.read("the cat sat on the mat")
    box(app).fill("a dog ran to the store")
    with app.page.expect_response(lambda reply: reply.url.endswith("/api/read")) as answered:
        app.page.locator('[data-control="off"]').click()
    assert answered.value.request.post_data_json["text"] == "the cat sat on the mat"
    app.wait()
    assert "cat" in app.tokens() and "dog" not in app.tokens()
    app.page.wait_for_url("**off=**")
    assert "cat" in app.page.url and "dog" not in app.page.url
    assert box(app).input_value() == "a dog ran to the store"
    assert "changed: press read" in said(app)


def test_a_paste_that_is_too_long_is_kept_and_said_to_be(app):
    long = "cat " * 60_000
    box(app).fill(long)
    app.page.locator("#count.warn").wait_for()
    assert box(app).input_value() == long, "nothing is cut"
    assert "shorten the text" in said(app)
    assert app.page.locator('[data-control="read"]').is_disabled()


def test_beside_an_error_no_numbers_of_the_text_before_are_shown(app):
    app.read("the cat sat on the mat")
    app.page.locator('[data-panel="facts"]').wait_for()
    box(app).fill("cat " * 300)
    app.page.get_by_role("button", name="read", exact=True).click()
    app.page.locator('[data-state="too-long"]').wait_for()
    assert app.page.locator('[data-panel="facts"]').count() == 0
    assert app.page.locator(".dial [data-map]").count() == 0


def test_unknown_tokens_are_counted_and_a_foreign_text_is_warned_about(app):
    app.page.locator('[data-control="text-pair"]').fill("")
    box(app).fill("我 去 商 店")
    app.page.get_by_text("unknown to the model").wait_for()
    expect(app.page.locator("#count")).to_contain_text("not in its language")


def test_the_box_grows_with_its_text(app):
    before = box(app).bounding_box()["height"]
    box(app).fill("the cat sat on the mat\n" * 6)
    box(app).focus()
    assert box(app).bounding_box()["height"] > before + 40


def test_a_ranking_asked_for_is_kept_when_a_head_is_switched_off(app):
    app.read("the cat sat on the mat")
    app.page.locator('[data-control="rank"]').click()
    app.page.locator("[data-important]").first.wait_for()
    with app.page.expect_response(lambda reply: "/api/importance" in reply.url):
        app.page.locator('[data-control="off"]').click()
    app.page.locator("[data-important]").first.wait_for()
