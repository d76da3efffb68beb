"""What a person would look for on a page."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import Locator, Page


def until(page: Page, holds: Callable[[], Any], patience: float = 40.0) -> Any:
    """What holds in the end: asked again and again while the page goes on with its work."""
    end = time.monotonic() + patience
    while not (found := holds()) and time.monotonic() < end:
        page.wait_for_timeout(20)
    return found


def display(where: Locator | Page) -> None:
    """Open what says how the picture is drawn, so that its controls can be used."""
    menu = where.locator('details[data-control="display"]')
    if menu.count():
        menu.first.evaluate("menu => menu.open = true")


class Seen:
    """One opened page with one or more views on it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.errors: list[str] = []

    def ready(self, count: int = 1) -> None:
        for number in range(count):
            self.page.locator("[data-headscope].hs-ready").nth(number).wait_for()

    def view(self, number: int = 0) -> Locator:
        return self.page.locator("[data-headscope]").nth(number)

    def call(self, expression: str, argument: Any = None, number: int = 0) -> Any:
        """Ask the mounted view `m`; what it promises is waited for."""
        script = (
            "async ([number, argument]) => { const m = "
            "document.querySelectorAll('[data-headscope]')[number].headscope; "
            f"await m.ready; return {expression}; }}"
        )
        return self.page.evaluate(script, [number, argument])

    def state(self, number: int = 0) -> dict[str, Any]:
        return self.call("m.state", number=number)

    def set(self, number: int = 0, **change: Any) -> None:
        self.call("(m.set(argument), await m.painted())", change, number)

    def painted(self, number: int = 0) -> None:
        self.call("await m.painted()", number=number)

    def weight(self, kind: str, layer: int, head: int, query: int, key: int) -> float:
        return self.call("await m.weight(...argument)", [kind, layer, head, query, key])

    def chip(self, head: int, number: int = 0) -> Locator:
        return self.view(number).locator(f'button.chip[data-head="{head}"]')

    def token(self, side: str, at: int, number: int = 0) -> Locator:
        return self.view(number).locator(f'[data-side="{side}"][data-token="{at}"]')

    def control(self, name: str, number: int = 0) -> Locator:
        display(self.view(number))
        return self.view(number).locator(f'[data-control="{name}"]')

    def status(self, number: int = 0) -> str:
        return self.view(number).locator("[data-status]").inner_text()

    def text(self, number: int = 0) -> str:
        """All text of the view that can be seen."""
        return self.view(number).locator("xpath=.").evaluate("e => e.shadowRoot.textContent")

    def away(self) -> None:
        """Take the pointer off everything."""
        self.page.mouse.move(2, 2)
        self.painted()

    def tooltip(self, number: int = 0) -> Locator:
        """What is said beside the pointer, once it is said."""
        shown = self.view(number).locator('[role="tooltip"]')
        shown.wait_for()
        return shown

    def processor_time(self) -> Callable[[], float]:
        """Asked again: the seconds of the page's main thread since it was asked last."""
        session = self.page.context.new_cdp_session(self.page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        last = 0.0

        def since() -> float:
            nonlocal last
            metrics = session.send("Performance.getMetrics")["metrics"]
            before, last = last, next(m["value"] for m in metrics if m["name"] == "TaskDuration")
            return last - before

        since()
        return since

    def pixels(self) -> np.ndarray:
        """The whole window as h w 3."""
        return np.asarray(Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")).astype(int)

    def coloured(self, colour: str, within: int = 12) -> int:
        """How many pixels have this colour."""
        wanted = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
        return int((np.abs(self.pixels() - wanted).max(axis=-1) <= within).sum())
