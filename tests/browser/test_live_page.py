"""The live page as an instrument: walked, judged by axe, in other engines, over many texts."""

from __future__ import annotations

import functools
import http.server
import json
import resource
import threading
from pathlib import Path

import pytest

from tests.browser.engines import ENGINES, Absent
from tests.browser.live import Answered, generated
from tests.browser.test_access import violations
from tests.browser.test_live import file, opened, same_as_python, scope
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


def memory_of(chromium, page) -> tuple[float, float]:
    """Bytes of the page's own objects, and of its process, where the model's memory is too."""
    page.context.new_cdp_session(page).send("HeapProfiler.collectGarbage")
    found = chromium.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    sizes = [
        int(Path(f"/proc/{one['id']}/statm").read_text().split()[1]) * resource.getpagesize()
        for one in found
        if one["type"] == "renderer"
    ]
    return page.evaluate("performance.memory.usedJSHeapSize"), max(sizes)


def test_two_hundred_texts_leave_no_more_memory_than_fifty(chromium, file):
    page = opened(chromium, file.as_uri())
    texts = [*generated(50), *generated(200, seed=1)]
    for text, pair in texts[:50]:
        Answered(page, text, pair)
    objects, process = memory_of(chromium, page)
    for text, pair in texts[50:]:
        Answered(page, text, pair)
    then = memory_of(chromium, page)
    assert then[0] < objects * 1.2 + 5e6
    assert then[1] < process * 1.2 + 5e7
    page.close()


class Window:
    """Another engine's window, asked as Playwright's page is."""

    def __init__(self, window) -> None:
        self._window = window

    def evaluate(self, function: str, given: object):
        return self._window.evaluate(f"({function})({json.dumps(given)})")


@pytest.mark.parametrize("served", [False, True], ids=["from disk", "from a server"])
@pytest.mark.parametrize("engine", ENGINES)
def test_tokens_attention_and_predictions_equal_pythons_in_another_engine(
    engine, served, file, scope
):
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=file.parent)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/{file.name}" if served else file.as_uri()
    try:
        with ENGINES[engine]() as window:
            window.resize(1440, 900)
            window.open(address)
            same_as_python(Window(window), scope, generated(50))
            assert window.errors == []
    except Absent as absent:
        pytest.skip(str(absent))
    finally:
        server.shutdown()
