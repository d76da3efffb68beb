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


def test_a_page_from_disk_reads_as_python_does_and_asks_nobody(chromium, make_scope, tmp_path):
    scope = make_scope("BertForPreTraining")
    file = hs.live_page(scope, tmp_path / "live.html", precision="single")
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
