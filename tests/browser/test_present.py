"""Present mode and tours: the picture, a caption, and steps that Back and reload know."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from headscope.errors import BadInput
from headscope.surfaces.app import create_app
from headscope.surfaces.app.tour import read_tour
from tests.browser.serving import served

pytestmark = pytest.mark.browser
STEPS = [
    {
        "title": "One head",
        "text": "Look at it.",
        "address": "text=the cat sat&layer=0&head=1&heads=1",
    },
    {"title": "Another", "text": "And it.", "address": "text=a red house&layer=1&head=2&heads=2"},
]


def test_a_tour_is_walked_with_keys_back_and_reload(new_page, models, tmp_path) -> None:
    path = tmp_path / "tour.json"
    path.write_text(json.dumps(STEPS), "utf-8")
    page = new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    with served(create_app(models, tour=read_tour(path))) as address:
        page.goto(address)
        caption = page.locator("[data-present]")
        expect(caption).to_contain_text("One head")
        expect(page).to_have_url(re.compile("step=0"))
        for chrome in (".app-head", ".tabs", ".rail", "[data-status]"):
            expect(page.locator(chrome).first).to_be_hidden()
        page.keyboard.press("PageDown")
        expect(caption).to_contain_text("Another")
        expect(page).to_have_url(re.compile("head=2.*step=1|step=1.*head=2"))
        page.reload()
        expect(caption).to_contain_text("Another")
        page.go_back()
        expect(caption).to_contain_text("One head")
        page.keyboard.press("P")
        expect(caption).to_have_count(0)
        expect(page.locator(".app-head")).to_be_visible()
        expect(page).not_to_have_url(re.compile("step="))
        page.keyboard.press("P")
        expect(caption).to_contain_text("Head 0-1")
    assert not errors


def test_a_file_that_is_no_tour_is_refused(tmp_path) -> None:
    for content in ("{}", "[]", "not JSON", '[{"title": "x"}]'):
        path = tmp_path / "tour.json"
        path.write_text(content, "utf-8")
        with pytest.raises(BadInput, match="tour"):
            read_tour(path)
    with pytest.raises(BadInput, match="no tour"):
        read_tour(tmp_path / "missing.json")
