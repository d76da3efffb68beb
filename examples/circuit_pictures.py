"""The pictures of behaviours and graphs in the docs, made by one command.

python examples/circuit_pictures.py [FOLDER]
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

import headscope as hs
from headscope.atlas.bundled import bundled_atlas

FOLDER = Path(__file__).parents[1] / "docs" / "images"
TEXT = "The cat [MASK] on the mat."
HEAD, POSITIONS = (2, 5), 200


def main(folder: Path) -> None:
    scope, atlas = hs.load(), bundled_atlas()
    found = hs.behaviours(scope, atlas, *HEAD, positions=POSITIONS)
    traced = hs.circuits.trace(scope, TEXT)
    pictures = {
        "behaviours": (hs.atlas_view(atlas.with_behaviours(found), *HEAD, theme="light"),
                       ".at-several"),
        "graph": (hs.graph_view(traced, reading=scope.read(TEXT), theme="light"), ".gr"),
    }  # fmt: skip
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, (view, part) in pictures.items():
            page = browser.new_page(
                viewport={"width": 1100, "height": 760}, device_scale_factor=1.5
            )
            page.set_content(view.html())
            page.locator("[data-headscope].hs-ready").wait_for()
            page.locator(part).screenshot(path=folder / f"view-{name}.png")
            print(f"Wrote {folder / f'view-{name}.png'}")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
