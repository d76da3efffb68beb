"""A contact sheet: states of every view as the page shows them and as they are exported.

    python web/dev/exports.py FOLDER [--count 40]

Writes FOLDER/sheet-N.png, eight pairs each: left the screen, right the figure.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw
from playwright.sync_api import Page, sync_playwright

import headscope as hs
from headscope.errors import BadInput
from headscope.figures import save
from headscope.surfaces.app.media import FOLDER
from headscope.views import draw
from headscope.views.shared.labels import as_labels, labels_for
from tests.browser.states import states

PAIR = ("I went to the store.", "At the store, I bought fresh strawberries.")
LONG = " ".join(PAIR * 8)
WIDTH, HEIGHT = 620, 330


def fitted(data: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(data)).convert("RGB")
    picture.thumbnail((WIDTH, HEIGHT))
    return picture


def shown() -> Iterator[tuple[Any, hs.Reading, dict[str, Any], int]]:
    """Pages of every view: the page, its reading, what else than it is drawn, parts in 40."""
    scope, digits = hs.load(), hs.load("digits")
    pair = scope.read(*PAIR)
    yield hs.neuron_view(pair), pair, {}, 20
    long = scope.read(LONG)
    yield hs.neuron_view(long), long, {}, 8
    masked = " ".join(PAIR).replace("fresh", scope.tokenizer.mask_token)
    answer = hs.attribute(scope, masked)
    yield hs.prediction_view(answer), pair, {"prediction": answer}, 2
    picture = digits.read(image=FOLDER / "seven.png")
    yield hs.image_view(picture), picture, {}, 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=40)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    pairs: list[tuple[str, bytes, bytes]] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1100, "height": 620})
        for view, reading, sources, share in shown():
            count = max(1, round(arguments.count * share / 38))
            pairs += drawn_twice(page, arguments.folder, view, reading, sources, count)
        browser.close()
    for first in range(0, len(pairs), 8):
        sheet(pairs[first : first + 8], first).save(arguments.folder / f"sheet-{first // 8}.png")
    print(f"{len(pairs)} states in {arguments.folder}")


def drawn_twice(
    page: Page,
    folder: Path,
    view: Any,
    reading: hs.Reading,
    sources: dict[str, Any],
    count: int,
) -> Iterator[tuple[str, bytes, bytes]]:
    """What a state is, its screen and its figure."""
    path = folder / "page.html"
    view.save(path)
    page.goto(path.resolve().as_uri())
    page.locator("[data-headscope].hs-ready").wait_for()
    host = page.locator("[data-headscope]")
    names = host.evaluate(
        "e => [...e.shadowRoot.querySelectorAll('[role=tab]')].map(t => t.dataset.view)"
    )
    labels = labels_for(reading)
    for state in states(reading, names or list(sources), count):
        state.pop("target", None)  # a page knows one answer
        host.evaluate(
            "async (e, state) => { e.headscope.set(state); await e.headscope.painted(); }", state
        )
        page.wait_for_timeout(80)
        buffer = io.BytesIO()
        named = as_labels(labels, state["kind"])
        source = sources.get(state["view"], reading)
        try:
            save(draw(state["view"], source, state, labels=named), buffer, "png")
        except BadInput as error:
            print(f"{state['view']}: {error}")  # said on screen too
            continue
        told = {key: value for key, value in state.items() if value not in (None, "", "all")}
        yield str(told), page.screenshot(), buffer.getvalue()


def sheet(pairs: Sequence[tuple[str, bytes, bytes]], first: int) -> Image.Image:
    made = Image.new("RGB", (2 * WIDTH + 30, 8 * (HEIGHT + 22)), "#888888")
    drawing = ImageDraw.Draw(made)
    for place, (told, screen, figure) in enumerate(pairs):
        top = place * (HEIGHT + 22) + 16
        made.paste(fitted(screen), (10, top))
        made.paste(fitted(figure), (WIDTH + 20, top))
        drawing.text((10, top - 13), f"{first + place} {told}", fill="white")
    return made


if __name__ == "__main__":
    main()
