"""The app for the gallery of views: a text that is read, one that the model goes on with, and two
that are compared."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Error, Page
from web.dev.gallery_sources import model_for, text_of

import headscope as hs
from headscope.surfaces.app import Models, create_app
from tests.browser.serving import served

SCENES = {
    "app": "the app: every head's map on the left, the view, and what the selected head does",
    "writing": "the app after the model has continued a text, at the first word it wrote",
    "comparison": "the app with two texts side by side, and how much each head changed",
}
OTHER = "The council never met: no engineer had asked for it, and the river froze in November."
SEEN = """async () => {
  const root = document.querySelector('[data-headscope-app]').shadowRoot;
  for (const each of root.querySelectorAll('.app-view, .app-other')) await each.headscope.painted();
}"""


def app_of(scope: hs.Scope) -> Any:
    """The app with this model in the place of the bundled one."""
    models = Models([])
    models._scopes = {"bundled": scope}  # pyright: ignore[reportPrivateUsage]
    return create_app(models)


def app_pictures(
    browser: Browser,
    wanted: list[str],
    lengths: list[int],
    everywhere: Callable[[Page, str, str, Callable[[], None]], Iterator[Any]],
) -> Iterator[Any]:
    for scene in [name for name in SCENES if name in wanted]:
        for tokens in lengths:
            scope = model_for(tokens, ("smollm2",)) if scene == "writing" else model_for(tokens)
            with served(app_of(scope)) as address:
                page = browser.new_page(viewport={"width": 1440, "height": 900})
                page.on("pageerror", lambda error: print("error:", error))
                page.set_default_timeout(120_000)
                asked = {"text": text_of(scope, tokens)}
                if scene == "comparison":
                    asked |= {"against": "another-text", "against_text": OTHER}
                page.goto(f"{address}/?{urlencode(asked)}")
                page.locator(".app-view.hs-ready").wait_for()
                if scene == "comparison":
                    page.locator(".app-other.hs-ready").wait_for()
                if scene == "writing":
                    page.locator("[data-control=write]").click()
                    page.locator("[data-growing] b", has_text=" ").wait_for()
                    with contextlib.suppress(Error):  # it may be done before
                        page.locator("[data-control=stop-writing]").click(timeout=1_000)
                    page.locator('[data-panel="written"]').wait_for()
                    page.locator("[data-control=next-step]").click()
                page.locator(".hint button", has_text="leave").click()
                page.wait_for_load_state("networkidle")
                yield from everywhere(
                    page, scene, f"{tokens:,} tokens", lambda page=page: page.evaluate(SEEN)
                )
                page.close()
