"""Present mode and tours: the picture, a caption, and steps that Back and reload know."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

import headscope as hs
from headscope.errors import BadInput
from headscope.surfaces.app import create_app
from headscope.surfaces.tour import read_tour
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


def test_states_are_saved_ordered_shared_and_opened_again(new_page, models, tmp_path) -> None:
    """What is saved in the app opens from its file, its link, a page and the command's argument."""
    page = new_page()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    with served(create_app(models)) as address:
        page.goto(f"{address}/?model=tiny&text=the+cat+sat&layer=0&head=1&heads=1")
        page.locator(".app-view.hs-ready").wait_for()
        page.locator('[data-control="tour"]').click()
        for title, change in TITLES.items():
            page.locator(".app-view").evaluate("(view, to) => view.headscope.set(to)", change)
            page.locator('[data-control="tour-title"]').fill(title)
            page.locator('[data-control="tour-text"]').fill(f"{title} it is.")
            page.locator('[data-control="tour-save"]').click()
        page.locator('[data-up="2"]').click()
        page.locator('[data-remove="0"]').click()
        listed = page.locator("[data-step]")
        expect(listed).to_have_text(["Third", "Second"])
        with page.expect_download() as download:
            page.locator('[data-control="tour-download"]').click()
        path = tmp_path / "tour.json"
        download.value.save_as(path)
        steps = read_tour(path)
        assert [step.title for step in steps] == ["Third", "Second"]
        page.locator('[data-control="tour-link"]').click()
        expect(page.locator("[data-tour]")).to_contain_text("Link copied")
        link = page.evaluate("navigator.clipboard.readText()")
        other = new_page()
        other.goto(link.replace("localhost", "127.0.0.1") if "127" in address else link)
        expect(other.locator("[data-present]")).to_contain_text("Third it is.")
        shown = other.locator(".app-view.hs-ready")
        shown.wait_for()
        assert shown.evaluate("view => view.headscope.state.head") == 3
        third = new_page()
        third.goto(f"{address}/?model=tiny&text=a+dog")
        third.locator('[data-control="tour"]').click()
        third.locator('[data-control="tour-file"]').set_input_files(path)
        expect(third.locator("[data-step]")).to_have_text(["Third", "Second"])
        third.locator('[data-control="tour-show"]').click()
        expect(third.locator("[data-present]")).to_contain_text("Third it is.")
        expect(third).to_have_url(re.compile("step=0"))
        third.reload()
        expect(third.locator("[data-present]")).to_contain_text("Third it is.")
    assert not errors


TITLES = {
    "First": {"head": 1, "heads": [1]},
    "Second": {"layer": 1, "head": 2, "heads": [2]},
    "Third": {"layer": 1, "head": 3, "heads": [3], "view": "matrix"},
}


def test_a_tour_opens_in_a_page(show, tiny_bert, tmp_path) -> None:
    path = tmp_path / "tour.json"
    address = "model=tiny&text=the cat sat&view=matrix&layer=1&head=3&heads=3"
    steps = [*STEPS[:1], {"title": "Map", "text": "The same, as a map.", "address": address}]
    path.write_text(json.dumps([*steps, STEPS[1]]), "utf-8")
    view = hs.head_view(tiny_bert.read("the cat sat"), 1, labels=())
    seen = show(view.html(tour=path))
    line = seen.page.locator("[data-headscope-steps]")
    expect(line).to_contain_text("One head Look at it.")
    tabs, caption = seen.page.locator(".tabs"), line.locator(".page-tour")
    for presented in (True, False, True):
        expect(tabs).to_have_count(0 if presented else 1)
        expect(caption).to_be_in_viewport(ratio=1)
        picture = seen.page.locator("[data-headscope]").bounding_box()
        assert picture["y"] + picture["height"] <= caption.bounding_box()["y"]
        seen.page.keyboard.press("P")
    seen.page.locator('[data-control="present"]').click()
    assert (seen.state()["layer"], seen.state()["heads"]) == (0, [1])
    seen.page.keyboard.press("PageDown")
    expect(line).to_contain_text("Map The same")
    assert (seen.state()["view"], seen.state()["head"]) == ("matrix", 3)
    seen.page.keyboard.press("PageDown")
    expect(line).to_contain_text("not in this page")
    assert seen.errors == []
    with pytest.raises(BadInput, match="one state"):
        view.save(tmp_path / "figure.svg", tour=path)


def test_another_head_fades_in_unless_motion_is_unwanted(new_page, models) -> None:
    for wish, copies in (("no-preference", 1), ("reduce", 0)):
        page = new_page(reduced_motion=wish)
        with served(create_app(models)) as address:
            page.goto(f"{address}/?model=tiny&text=the+cat+sat&layer=0&head=1&heads=1")
            page.locator(".app-view.hs-ready").wait_for()
            page.keyboard.press("P")
            page.locator("[data-present]").wait_for()
            page.wait_for_function(
                "() => document.querySelector('[data-headscope-app]').shadowRoot"
                ".querySelector('.app-view').headscope.options.leaving"
            )
            count = page.locator(".app-view").evaluate(
                "view => { view.headscope.set({head: 2, heads: [2]});"
                " return view.shadowRoot.querySelectorAll('.leaving').length; }"
            )
            assert count == copies
            expect(page.locator(".app-view .leaving")).to_have_count(0)


def test_a_file_that_is_no_tour_is_refused(tmp_path) -> None:
    for content in ("{}", "[]", "not JSON", '[{"title": "x"}]'):
        path = tmp_path / "tour.json"
        path.write_text(content, "utf-8")
        with pytest.raises(BadInput, match="tour"):
            read_tour(path)
    with pytest.raises(BadInput, match="no tour"):
        read_tour(tmp_path / "missing.json")
