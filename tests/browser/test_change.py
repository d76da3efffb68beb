"""Attention changed by hand in the app: predictions follow, the link keeps it, Python has it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import expect

import headscope as hs
from headscope.surfaces.app import Models, create_app
from tests.browser.looking import until
from tests.browser.serving import served
from tests.browser.test_app import App

pytestmark = pytest.mark.browser
TEXT = "the cat sat on the mat and the dog ran"


@pytest.fixture(scope="module")
def address(models: Models) -> Iterator[str]:
    with served(create_app(models)) as where:
        yield where


@pytest.fixture
def writer(models: Models) -> hs.Scope:
    return models.scope("writer")


class Opened(App):
    def wait(self) -> None:
        self.page.locator('.app-main[data-state="ready"] .app-view.hs-ready').wait_for()
        self.page.locator('[data-panel="change"]').wait_for()


def opened(new_page, address: str, more: str) -> App:
    link = f"{address}/?model=writer&text={TEXT.replace(' ', '+')}&layer=0&head=1&heads=1{more}"
    page = new_page()
    page.add_init_script(
        "navigator.clipboard.writeText = text => {window.copied = text; return Promise.resolve()}"
    )
    return Opened(page, link)


def shown(app: App) -> list[float]:
    """What stands after the arrow under Predictions."""
    app.page.locator('[data-panel="predictions"] td + td').first.wait_for()
    cells = app.page.locator('[data-panel="predictions"] td + td small').all_inner_texts()
    return [float(one) for one in cells]


def edited(app: App, act) -> None:
    with app.page.expect_response(lambda reply: reply.url.endswith("/api/predict")) as answer:
        act()
    assert answer.value.ok
    app.wait()


def in_python(app: App, scope: hs.Scope) -> hs.Scope:
    """The scope that the copied lines make."""
    app.page.locator('[data-control="python"]').click()
    assert until(app.page, lambda: app.page.evaluate("window.copied"))
    lines = [line for line in app.page.evaluate("window.copied").splitlines() if "scope." in line]
    known = {"scope": scope}
    exec("\n".join(lines), known)
    assert known["reading"].tokens == scope.read(TEXT).tokens
    return known["scope"]


def test_a_weight_is_typed_and_the_prediction_follows(new_page, address, writer):
    app = opened(new_page, address, "&view=matrix&query=9&key=2")
    number = app.page.locator('[data-control="weight"]')
    expect(number).not_to_have_value("")
    before = writer.read(TEXT).attention.values[0, 1, 9, 2]
    assert float(number.input_value()) == pytest.approx(before, abs=0.006)
    edited(app, lambda: (number.fill("0.9"), number.press("Tab")))
    expect(app.page.locator("[data-edit]")).to_contain_text("0-1: dog → cat 0.9")
    changed = writer.without(heads=[(0, 1)], mode="weight", weights=((9, 2, 0.9),))
    wanted = [one.probability for one in changed.next_token(TEXT, 5)]
    assert until(app.page, lambda: np.allclose(shown(app), wanted, atol=6e-4))
    weight = app.page.locator(".app-view").evaluate(
        "view => view.headscope.weight('decoder', 0, 1, 9, 2)"
    )
    assert weight == pytest.approx(0.9, abs=2e-3)
    made = in_python(app, writer)
    np.testing.assert_array_equal(
        made.read(TEXT).attention.values, changed.read(TEXT).attention.values
    )
    assert app.errors == []


def test_a_weight_is_dragged_and_the_link_reopens_it(new_page, address, writer):
    app = opened(new_page, address, "&query=9&key=2")
    drag = app.page.locator('[data-control="weight-drag"]')
    expect(drag).to_be_enabled()

    def pull() -> None:
        drag.scroll_into_view_if_needed()
        drag.hover()  # waits until nothing moves it any more
        box = drag.bounding_box()
        middle = box["y"] + box["height"] / 2
        app.page.mouse.move(box["x"] + 3, middle)
        app.page.mouse.down()
        app.page.mouse.move(box["x"] + box["width"] * 0.6, middle, steps=4)
        app.page.mouse.up()

    def pull_until_it_follows() -> None:
        """Panels that load late may push the slider away between two looks at where it is."""
        for _ in range(5):
            pull()
            if until(app.page, lambda: "edits=weight" in app.page.url, 4):
                return

    edited(app, pull_until_it_follows)
    app.page.wait_for_url(re.compile(r"edits=weight-decoder-0\.1-9-2-0\.[56]"))
    again = Opened(new_page(), app.page.url)
    expect(again.page.locator("[data-edit]")).to_contain_text("0-1: dog → cat 0.")
    assert until(app.page, lambda: shown(again) == shown(app))
    undo = again.page.locator('[data-control="undo-edit"]')
    edited(again, undo.click)
    expect(again.page.locator("[data-edit]")).to_have_count(0)
    assert app.errors == again.errors == []


def test_words_selected_in_the_box_are_emphasised(new_page, address, writer):
    app = opened(new_page, address, "")
    app.page.locator('[data-control="text"]').evaluate(
        "(box, [from, to]) => (box.focus(), box.setSelectionRange(from, to))",
        [TEXT.index("dog"), TEXT.index("dog") + 7],
    )
    where = writer.encode([TEXT]).tokens[0].labels.index("dog")
    span = app.page.locator("[data-span]")
    expect(span).to_have_attribute("data-span", f"{where}-{where + 2}")
    app.page.locator('[data-control="factor"]').fill("50")
    edited(app, app.page.locator('[data-control="emphasise"]').click)
    expect(app.page.locator("[data-edit]")).to_contain_text("“dog ran” × 50")
    app.page.locator('[data-control="wanted"]').fill("red house")
    told = hs.emphasis.effect(writer, TEXT, "dog ran", answer="red house", factor=50)
    said = app.page.locator("[data-wanted]")
    expect(said).to_contain_text("→")
    numbers = [
        float(one) for one in re.findall(r"[−-]?\d+\.\d+", said.inner_text().replace("−", "-"))
    ]
    assert numbers == pytest.approx([told.before, told.after], abs=0.01)
    changed = writer.emphasise("dog ran", text=TEXT, factor=50)
    wanted = [one.probability for one in changed.next_token(TEXT, 5)]
    assert until(app.page, lambda: np.allclose(shown(app), wanted, atol=6e-4))
    made = in_python(app, writer)
    np.testing.assert_array_equal(
        made.read(TEXT).attention.values, changed.read(TEXT).attention.values
    )
    assert app.errors == []
