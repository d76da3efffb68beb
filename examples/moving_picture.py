"""The moving picture of the README: a walk through the app, as Chromium shows it.

    python examples/moving_picture.py [FILE.webp]

A word is hovered, heads and views are changed, as a reader would; each step is one screen.
"""

from __future__ import annotations

import shutil
import sys
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from headscope.surfaces.app import Models, create_app

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds what lies beside its folder

from tests.browser.serving import served

TARGET = Path(__file__).parents[1] / "docs" / "images" / "app.webp"
SIZE, KEPT = (1400, 930), (1120, 744)  # of the window in CSS pixels, and of the picture
MOST = 2_000_000  # bytes
OPEN = "layer=2&heads=2&head=2&theme=light"
SHOW = """async (host, state) => {
  host.headscope.set(state);
  await host.headscope.painted();
}"""
# what is set, which word is hovered, for how many milliseconds
STEPS: tuple[tuple[dict[str, object], int | None, int], ...] = (
    ({}, None, 1400),
    ({}, 1, 500),
    ({}, 2, 500),
    ({}, 3, 500),
    ({}, 5, 900),
    ({"layer": 2, "heads": [6], "head": 6}, None, 900),
    ({}, 5, 900),
    ({"layer": 3, "heads": [0], "head": 0}, None, 900),
    ({}, 5, 1200),
    ({"view": "model"}, None, 1600),
    ({"view": "matrix", "layer": 2, "heads": [2], "head": 2}, None, 1400),
    ({"view": "neuron", "query": 4}, None, 1800),
    ({"view": "text"}, None, 1600),
)


def main(target: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("Install Chromium first; the screens are made with it.")
    with served(create_app(Models())) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
        page.goto(f"{address}/?{OPEN}")
        page.locator('[data-side="query"][data-token="1"]').wait_for(timeout=120_000)
        page.wait_for_load_state("networkidle")
        # what greets a newcomer would lie over what is to be seen
        for control in ("hint-leave", "close-lesson"):
            page.locator(f'[data-control="{control}"]').click()
        frames = [step(page, *each) for each in STEPS]
        browser.close()
    frames[0].save(
        target,
        save_all=True,
        append_images=frames[1:],
        duration=[lasting for *_, lasting in STEPS],
        loop=0,
        quality=72,
        method=6,
    )
    if target.stat().st_size > MOST:
        raise SystemExit(f"{target} takes {target.stat().st_size:,} bytes, more than {MOST:,}.")
    print(f"Wrote {target}, {len(frames)} screens, {target.stat().st_size / 1e3:,.0f} KB")


def step(page: Page, state: dict[str, object], hovered: int | None, lasting: int) -> Image.Image:
    if state:
        page.mouse.move(SIZE[0] - 2, SIZE[1] - 2)
        page.locator(".hs-ready").first.evaluate(SHOW, state)
    if hovered is not None:
        page.locator(f'[data-side="query"][data-token="{hovered}"]').first.hover()
    page.wait_for_timeout(600)
    whole = Image.open(BytesIO(page.screenshot())).convert("RGB")
    return whole.resize(KEPT, Image.Resampling.LANCZOS)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
