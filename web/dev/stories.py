"""The pictures of docs/how-to/ten-stories.md: python -m web.dev.stories [story …]"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

from examples.gallery import weights
from PIL import Image
from playwright.sync_api import Page, sync_playwright
from web.dev.gallery_sources import text_of

import headscope as hs
from headscope.surfaces.app import Models, create_app
from tests.browser.serving import served

FOLDER = Path(__file__).parents[2] / "docs" / "images" / "stories"
MOST_BYTES = 150_000
VIG = {"text": "I went to the store.", "pair": "At the store, I bought fresh strawberries."}
IOI = "When Mary and John went to the store, John gave a drink to"
HIDDEN = "The cat chased the mouse because the [MASK] was hungry."
SEEN = """async () => {
  const root = document.querySelector('[data-headscope-app]').shadowRoot;
  const views = root.querySelectorAll('.app-view, .app-other');
  for (const each of views) await each.headscope?.painted();
}"""


class Story:
    """One visit: the app on a screen of some size, and what is done there."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address

    def open(self, **asked: object) -> Story:
        self.page.goto(f"{self.address}/?{urlencode(asked)}")
        self.page.locator(".app-view.hs-ready").wait_for()
        hint = self.page.locator("[data-control=hint-leave]")
        if hint.count():
            hint.click()
        return self.rest()

    def rest(self) -> Story:
        self.page.wait_for_load_state("networkidle")
        self.page.evaluate(SEEN)
        self.page.wait_for_timeout(400)
        return self

    def click(self, what: str) -> Story:
        self.page.locator(what).first.click()
        return self.rest()


def first_minute(story: Story) -> None:
    story.page.goto(story.address)
    story.page.locator(".app-view.hs-ready").wait_for()
    story.rest()


def vigs_heads(story: Story) -> None:
    story.open(**VIG, view="model")


def why_a_word(story: Story) -> None:
    story.open(model="smollm2", text=IOI, view="prediction")


def a_head_off(story: Story) -> None:
    story.open(text=HIDDEN, off="encoder.2.6", layer=2, head=6, heads=6, query=9)


def two_models(story: Story) -> None:
    story.open(text=VIG["text"] + " " + VIG["pair"], against="minilm", layer=2, head=6, heads=6)
    story.page.locator("[data-panel=match]").wait_for()
    story.rest()


def from_a_head_to_its_texts(story: Story) -> None:
    story.open(**VIG, layer=2, head=6, heads=6).click("[data-control=atlas]")
    story.page.locator(".app-atlas canvas, .app-atlas svg").first.wait_for()
    story.rest()


def a_figure(story: Story) -> None:
    story.open(**VIG, view="matrix", layer=2, head=6, heads=6, scale="sqrt", theme="light")
    story.click("[data-control=export] summary")


def a_talk(story: Story) -> None:
    story.open(**VIG, layer=2, head=6, heads=6)
    story.page.keyboard.press("P")
    story.page.locator("[data-present]").wait_for()
    story.rest()


def a_phone(story: Story) -> None:
    story.open(**VIG, layer=2, head=6, heads=6)


def a_long_text(story: Story) -> None:
    story.open(model="smollm2", text=LONG)


LONG = ""
WIDE, PHONE = (1440, 900), (390, 844)
STORIES: dict[str, tuple[Callable[[Story], None], tuple[int, int]]] = {
    "first-minute": (first_minute, WIDE),
    "vigs-heads": (vigs_heads, WIDE),
    "why-a-word": (why_a_word, WIDE),
    "a-head-off": (a_head_off, WIDE),
    "two-models": (two_models, WIDE),
    "head-to-texts": (from_a_head_to_its_texts, WIDE),
    "a-figure": (a_figure, WIDE),
    "a-talk": (a_talk, (1280, 720)),
    "a-phone": (a_phone, PHONE),
    "a-long-text": (a_long_text, WIDE),
}


def main(wanted: list[str]) -> None:
    global LONG
    scopes = {"bundled": hs.load()}
    if not wanted or {"two-models"} & set(wanted):
        scopes["minilm"] = hs.load(weights("minilm"), name="MiniLM")
    if not wanted or {"why-a-word", "a-long-text"} & set(wanted):
        scopes["smollm2"] = hs.load(weights("smollm2"), name="SmolLM2-135M")
        LONG = text_of(scopes["smollm2"], 2000)
    names = [name for name in scopes if name != "bundled"]
    models = Models(["bundled", *names], scopes=scopes)
    FOLDER.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, served(create_app(models)) as address:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        for name in wanted or STORIES:
            act, (width, height) = STORIES[name]
            context = browser.new_context(viewport={"width": width, "height": height})
            context.set_default_timeout(180_000)
            page = context.new_page()
            page.on("pageerror", lambda error: print("error:", error))
            page.on("console", lambda said: said.type == "error" and print("console:", said.text))
            act(Story(page, address))
            path = FOLDER / f"{name}.png"
            page.screenshot(path=path)
            small(path)
            print(path, path.stat().st_size)
            context.close()
        browser.close()


def small(path: Path) -> None:
    """A picture for a page: fewer colours where it would be too large."""
    with Image.open(path) as opened:
        picture = opened.convert("RGB")
    for colours in (256, 128, 64, 32):
        picture.quantize(colours, dither=Image.Dither.NONE).save(path, optimize=True)
        if path.stat().st_size <= MOST_BYTES:
            return


if __name__ == "__main__":
    main(sys.argv[1:])
