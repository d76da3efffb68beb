"""The live page as an instrument: walked, judged by axe, in other engines, over many texts."""

from __future__ import annotations

import functools
import http.server
import json
import threading

import numpy as np
import pytest

from tests.browser.engines import ENGINES, Absent
from tests.browser.live import Answered, generated
from tests.browser.test_access import violations
from tests.browser.test_live import file, opened, scope, some_heads
from tests.browser.test_walk import APP_HOST, Walker

__all__ = ["file", "scope"]
pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(900)]


def test_every_tab_is_walked_at_every_size_in_both_themes(chromium, file):
    page = opened(chromium, file.as_uri())
    Walker(page, APP_HOST).everywhere()
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(chromium, file, scheme):
    page = chromium.new_page(color_scheme=scheme, reduced_motion="reduce")
    page.goto(file.as_uri())
    page.locator('[data-panel="facts"][aria-busy="false"]').wait_for(timeout=120_000)
    assert violations(page) == []
    page.close()


def test_two_hundred_texts_leave_no_more_memory_than_fifty(chromium, file):
    page = opened(chromium, file.as_uri())
    session = page.context.new_cdp_session(page)

    def held() -> float:
        session.send("HeapProfiler.collectGarbage")
        return page.evaluate("performance.memory.usedJSHeapSize")

    texts = generated(200)
    for text, pair in texts[:50]:
        Answered(page, text, pair)
    before = held()
    for text, pair in texts[50:]:
        Answered(page, text, pair)
    assert held() < before * 1.2 + 5e6
    page.close()


class Window:
    """Another engine's window, asked as Playwright's page is."""

    def __init__(self, window) -> None:
        self._window = window

    def evaluate(self, function: str, given: object):
        return self._window.evaluate(f"({function})({json.dumps(given)})")


@pytest.mark.parametrize("served", [False, True], ids=["from disk", "from a server"])
@pytest.mark.parametrize("engine", ENGINES)
def test_attention_equals_pythons_in_another_engine(engine, served, file, scope):
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=file.parent)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/{file.name}" if served else file.as_uri()
    try:
        with ENGINES[engine]() as window:
            window.resize(1440, 900)
            window.open(address)
            for number, (text, pair) in enumerate(generated(12)):
                off = some_heads(number)
                edited = scope.without(heads=[one[1:] for one in off]) if off else scope
                part = edited.read(text, pair).part()
                truth = np.stack([part.weights(number) for number in part.numbers])
                found = Answered(Window(window), text, pair, off)
                np.testing.assert_allclose(found.attention(), truth, atol=2e-5)
            assert window.errors == []
    except Absent as absent:
        pytest.skip(str(absent))
    finally:
        server.shutdown()
