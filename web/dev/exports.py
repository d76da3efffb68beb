"""A contact sheet: states of every view as the page shows them and as they are exported.

    python web/dev/exports.py FOLDER [--count 40]

Writes FOLDER/sheet-N.png, eight pairs each: left the screen, right the figure.
"""

from __future__ import annotations

import argparse
import io
from pathlib import Path

from PIL import Image, ImageDraw
from playwright.sync_api import sync_playwright

import headscope as hs
from headscope.figures import save
from headscope.views import draw
from headscope.views.labels import as_labels, labels_for
from tests.browser.states import states

PAIR = ("I went to the store.", "At the store, I bought fresh strawberries.")
WIDTH, HEIGHT = 620, 330


def fitted(data: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(data)).convert("RGB")
    picture.thumbnail((WIDTH, HEIGHT))
    return picture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=40)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    reading = hs.load().read(*PAIR)
    path = arguments.folder / "page.html"
    hs.neuron_view(reading).save(path)
    labels = labels_for(reading)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1100, "height": 620})
        page.goto(path.resolve().as_uri())
        page.locator("[data-headscope].hs-ready").wait_for()
        host = page.locator("[data-headscope]")
        names = host.evaluate(
            "e => [...e.shadowRoot.querySelectorAll('[role=tab]')].map(t => t.dataset.view)"
        )
        sheet, drawing, number = None, None, 0
        for number, state in enumerate(states(reading, names, arguments.count)):
            place = number % 8
            if place == 0:
                sheet = Image.new("RGB", (2 * WIDTH + 30, 8 * (HEIGHT + 22)), "#888888")
                drawing = ImageDraw.Draw(sheet)
            assert sheet is not None and drawing is not None
            host.evaluate(
                "async (e, state) => { e.headscope.set(state); await e.headscope.painted(); }",
                state,
            )
            page.wait_for_timeout(80)
            top = place * (HEIGHT + 22) + 16
            sheet.paste(fitted(page.screenshot()), (10, top))
            buffer = io.BytesIO()
            named = as_labels(labels, state["kind"])
            save(draw(state["view"], reading, state, labels=named), buffer, "png")
            sheet.paste(fitted(buffer.getvalue()), (WIDTH + 20, top))
            told = {key: value for key, value in state.items() if value not in (None, "", "all")}
            drawing.text((10, top - 13), f"{number} {told}", fill="white")
            if place == 7 or number == arguments.count - 1:
                sheet.save(arguments.folder / f"sheet-{number // 8}.png")
        browser.close()
    print(f"{number + 1} states in {arguments.folder}")


if __name__ == "__main__":
    main()
