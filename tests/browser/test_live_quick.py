"""A live page of a tiny model: from disk, offline, under its own policy, equal to Python's.

The thorough tests, with real weights, are slow: test_live.py, test_live_page.py.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import headscope as hs
from tests.browser.live import WATCH, Answered, asked_json

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
TEXTS = [
    ("cat", None),
    ("i went to the store and a cat sat", None),
    ("the dog ran", "a [MASK] sat"),
]
OFF = [("encoder", 0, 1), ("encoder", 1, 3)]


@pytest.fixture(scope="module")
def scope(make_scope):
    return make_scope("BertForPreTraining")


@pytest.fixture(scope="module")
def file(scope, tmp_path_factory):
    path = tmp_path_factory.mktemp("live") / "live.html"
    return hs.live_page(scope, path, precision="single")


def test_a_page_from_disk_reads_as_python_does_and_asks_nobody(chromium, scope, file):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', file.read_text("utf-8"))
    assert policy and "default-src 'none'" in policy[1] and "unsafe-inline" not in policy[1]
    context = chromium.new_context(offline=True)
    page = context.new_page()
    page.add_init_script(WATCH)
    requests, errors = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(file.as_uri())
    page.locator(".app-view.hs-ready").wait_for(state="attached", timeout=120_000)
    for text, pair in TEXTS:
        for off in ([], OFF):
            edited = scope.without(heads=[one[1:] for one in off]) if off else scope
            found, part = Answered(page, text, pair, off), edited.read(text, pair).part()
            assert list(found.tokens["text"]) == list(part.query.labels)
            truth = np.stack([part.weights(number) for number in part.numbers])
            np.testing.assert_allclose(found.attention(), truth, atol=1e-5)
    said = asked_json(page, "api/predict", {"id": found.header["id"], "off": OFF})
    assert len(said["places"][0]["after"]) == 5
    page.locator("[data-control=text]").fill("a dog ran to the house")
    page.locator("[data-control=read]").click()
    page.locator(".app-view").get_by_text("house", exact=True).first.wait_for()
    assert all(url.startswith(("file:", "blob:", "data:")) for url in requests), requests
    assert page.evaluate("globalThis.violations ?? []") == [] and errors == []
    context.close()


def test_a_text_is_read_at_a_pause_in_typing_and_is_one_step_back(chromium, file):
    page = chromium.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{file.as_uri()}#text=the+cat+sat&layer=1&head=2&heads=2")
    shown = page.locator(".app-view")
    shown.get_by_text("cat", exact=True).first.wait_for(timeout=120_000)
    box = page.locator("[data-control=text]")
    box.fill("")
    for words, word in (("a dog", "dog"), (" ran to the house", "house")):
        box.press_sequentially(words)
        shown.get_by_text(word, exact=True).first.wait_for()
        page.wait_for_url(f"**{word}**")
    assert "layer=1" in page.url and "head=2" in page.url
    assert box.evaluate("box => box.matches(':focus')")
    page.go_back()
    shown.get_by_text("cat", exact=True).first.wait_for()
    assert box.input_value() == "the cat sat"
    page.close()


CALLED_OFF = """async texts => {
  const calling = new AbortController();
  const ask = (text, signal) => headscopeEngine.fetch("api/tokens",
    { method: "POST", body: JSON.stringify({ model: "", text, text_pair: null }), signal });
  const answers = texts.map((text, at) => ask(text, at ? calling.signal : undefined));
  calling.abort();
  return (await Promise.allSettled(answers)).map(one => one.reason?.name ?? one.value.status);
}"""


def test_a_question_that_was_called_off_waits_for_nothing(chromium, file):
    page = chromium.new_page()
    page.goto(file.as_uri())
    page.locator(".app-view.hs-ready").wait_for(state="attached", timeout=120_000)
    assert page.evaluate(CALLED_OFF, ["cat", "dog", "a"]) == [200, "AbortError", "AbortError"]
    page.close()


def test_menus_of_the_header_lie_within_a_phone_s_window(chromium, file):
    page = chromium.new_page(viewport={"width": 390, "height": 844})
    page.goto(file.as_uri())
    page.locator(".app-view.hs-ready").wait_for(state="attached", timeout=120_000)
    menus = page.locator(".app-head details.menu")
    assert menus.count() >= 2
    for menu in menus.all():
        menu.locator("summary").click()
        box = menu.locator(".menu-list").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390
        assert box["y"] >= menu.locator("summary").bounding_box()["y"] + 20
        page.keyboard.press("Escape")
    page.close()
