"""Chromium for tests of what people see: pages from disk, every request written down.

A test that looks before the page has got there passes on a quick machine only. Two variables of
the environment make any machine slow, to find such tests (and a product that loses a key) at home:

- HEADSCOPE_SLOW_BROWSER=6 gives every page a sixth of the processor;
- HEADSCOPE_LATE_BROWSER=300 lets every frame and every answer of a server come up to 300 ms late.

Unset, the tests run plainly. Those that assert milliseconds need the machine as it is.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from headscope.surfaces.app import Models
from tests.browser.looking import Seen

PATIENCE = 40_000  # milliseconds: what a page does at once may take long on a busy machine
expect.set_options(timeout=PATIENCE)
SLOW = os.environ.get("HEADSCOPE_SLOW_BROWSER")
LATE = os.environ.get("HEADSCOPE_LATE_BROWSER")
# The same delays in every run. A frame that was called off stays called off.
DELAYS = """(most => {
  let seed = 1;
  const wait = () => new Promise(done =>
    setTimeout(done, most * (seed = seed * 16807 % 2147483647) / 2147483647));
  const [ask, frame, waiting] = [fetch, requestAnimationFrame, new Set()];
  let number = 0;
  globalThis.fetch = async (...asked) => {
    await wait();
    const answer = await ask(...asked);
    await wait();
    return answer;
  };
  globalThis.requestAnimationFrame = paint => {
    waiting.add(++number);
    const mine = number;
    wait().then(() => frame(time => waiting.delete(mine) && paint(time)));
    return mine;
  };
  globalThis.cancelAnimationFrame = mine => void waiting.delete(mine);
})"""


def slowed(page: Page) -> Page:
    """As slow as the environment asks for; unasked, as it is."""
    if SLOW:
        session = page.context.new_cdp_session(page)
        session.send("Emulation.setCPUThrottlingRate", {"rate": float(SLOW)})
    if LATE:
        page.add_init_script(f"{DELAYS}({float(LATE)})")
    return page


@pytest.fixture(scope="module")  # its event loop must not outlive the module: others run loops too
def chromium() -> Iterator[Browser]:
    """`make test` installs it; without a browser these tests fail rather than pass unseen."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = next((path for path in map(shutil.which, names) if path), None)
    assert found, "No Chromium found; 'make test' installs it."
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def models(tiny_bert, tiny_llama) -> Models:
    """Tiny models in the place of those the app's server would load."""
    return Models(
        ["tiny", "writer"], scopes={"bundled": tiny_bert, "tiny": tiny_bert, "writer": tiny_llama}
    )


@pytest.fixture
def new_page(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """A page in a context of its own, 1280 × 800."""
    contexts = []

    def make(**options: object) -> Page:
        settings = {"viewport": {"width": 1280, "height": 800}, **options}
        context = chromium.new_context(**settings)  # pyright: ignore[reportArgumentType]
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        return slowed(context.new_page())

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def show(new_page: Callable[..., Page], tmp_path: Path) -> Callable[..., Seen]:
    """Write a view, or HTML, to disk and open it; network, errors and refusals are kept."""

    def open_(view: object, waiting: bool = True, **options: object) -> Seen:
        path = tmp_path / f"page{len(list(tmp_path.iterdir()))}.html"
        path.write_text(view if isinstance(view, str) else view.html(), "utf-8")  # pyright: ignore
        page = new_page(**options)
        seen = Seen(page)
        page.on("request", lambda request: seen.requests.append(request.url))
        page.on("pageerror", lambda error: seen.errors.append(str(error)))
        page.on(
            "console",
            lambda message: (
                seen.errors.append(message.text)
                if message.type == "error" or re.search("Content Security Policy", message.text)
                else None
            ),
        )
        page.goto(path.as_uri())
        if waiting:
            seen.ready()
        return seen

    return open_
