"""The pictures of the README and the docs, made by one command.

    python examples/readme_pictures.py [FOLDER]

They are what Chromium shows of the pages and of the app, in both themes. Every head shown is chosen
by its label.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import headscope as hs
from headscope.patterns.labels import quick_labels
from headscope.surfaces import View
from headscope.surfaces.app import Models, create_app

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds what lies beside its folder

from tests.browser.serving import served

PAIR = ("I went to the store.", "At the store, I bought fresh strawberries.")
FOLDER = Path(__file__).parents[1] / "docs" / "images"


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    reading = hs.load().read(*PAIR)
    labels = quick_labels(reading)
    found = labels[labels["pattern"] == "next_word"].sort_values("score").iloc[-1]
    layer, head = int(found["layer"]), int(found["head"])
    print(f"next word: head {layer}-{head}, {found['score']:.2f} on this text")
    bought = reading.tokens.index("bought")
    views = {
        f"{name}{end}": view
        for theme, end in (("light", ""), ("dark", "-dark"))
        for name, view in {
            "head": hs.head_view(reading, layer, [head], labels=labels, theme=theme),
            "model": hs.model_view(reading, labels=labels, theme=theme),
            "neuron": hs.neuron_view(reading, layer, head, bought, labels=labels, theme=theme),
            "matrix": hs.matrix_view(reading, layer, head, labels=labels, theme=theme),
            "head_map": hs.head_map(reading, "next_word", theme=theme),
        }.items()
    }
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("Install Chromium first; the screens are made with it.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, view in views.items():
            screen(browser, view, folder / f"view-{name}.png")
        app_screen(browser, folder / "view-app.png", f"layer={layer}&heads={head}&head={head}")
        browser.close()


def screen(browser: Browser, view: View, path: Path) -> None:
    page = browser.new_page(viewport={"width": 1100, "height": 760}, device_scale_factor=1.5)
    page.set_content(view.html())
    box = page.locator("[data-headscope].hs-ready")
    box.wait_for()
    page.wait_for_timeout(300)
    box.screenshot(path=path)
    page.close()
    trim(path)
    print(f"Wrote {path}")


def trim(path: Path) -> None:
    """Cut the empty paper below the view."""
    picture = Image.open(path).convert("RGB")
    rows = np.asarray(picture).reshape(picture.height, -1)
    last = np.flatnonzero((rows != rows[-1]).any(axis=1)).max(initial=0)
    picture.crop((0, 0, picture.width, min(picture.height, int(last) + 2))).save(
        path, optimize=True
    )


def app_screen(browser: Browser, path: Path, state: str) -> None:
    with served(create_app(Models())) as address:
        page = browser.new_page(viewport={"width": 1280, "height": 800}, device_scale_factor=1.5)
        page.goto(f"{address}/?{state}&theme=light")
        page.locator('[data-side="query"][data-token="1"]').wait_for(timeout=60_000)
        page.wait_for_load_state("networkidle")
        page.screenshot(path=path)
        page.close()
    print(f"Wrote {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
