"""Every view, light and dark, at 8, 128, 512 and 2,000 positions and three sizes, on one page.

    python web/dev/gallery.py [--views head text] [--tokens 8 128] [--large FOLDER]

Views are found in the registry, not listed; the app stands with them: a text that is read, one
that the model goes on with, two that are compared. Writes docs/images/views/*.webp, one sheet a
view and theme, and the page that shows them; --large keeps the pictures in full size. Longer texts
are read by the first model that reads so much: the bundled one, all-MiniLM-L6-v2, SmolLM2 (those of
requirements/models.txt).
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # a script finds what lies beside its folder

from PIL import Image, ImageDraw
from playwright.sync_api import Browser, Page, sync_playwright
from web.dev.gallery_app import SCENES, app_pictures
from web.dev.gallery_sources import LENGTHS, SOURCES, views_by_source

from headscope.front_door import view_functions
from headscope.surfaces.functions import functions
from headscope.views import discover

SIZES = {"desk": (1440, 900), "laptop": (1024, 768), "phone": (390, 844)}
THEMES = ("light", "dark")
FOLDER = ROOT / "docs" / "images" / "views"
OF_ANSWERS = {"grounding", "graph", "score"}  # drawn of a result, not of a text
INDEX = ROOT / "docs" / "gallery" / "every-view.md"
TALL, GAP, QUALITY = 270, 8, 58  # of a picture on a sheet: pixels; of the sheet: WebP's quality
OPEN = """async (host, view) => { host.headscope.set({view}); await host.headscope.painted(); }"""
TABS = "host => [...host.shadowRoot.querySelectorAll('[role=tab]')].map(tab => tab.dataset.view)"
HEAD = """# Every view at every size

Each sheet holds one view at three sizes (1440 × 900, 1024 × 768 and a phone's 390 × 844), a row for
each length: 8, 128, 512 and 2,000 tokens, patches or frames. All are made by

```
python web/dev/gallery.py
```

Texts are read by the bundled model, the longest by SmolLM2. Pictures and sounds of these lengths
are read by models with random weights, which show the layout and nothing else; rows called trained
or Whisper are of trained models. What each view is for stands in
[Look at a text](../how-to/views.md).
"""


class Picture(NamedTuple):
    view: str
    row: str
    size: str
    theme: str
    png: bytes


def everywhere(page: Page, view: str, row: str, settle: Callable[[], None]) -> Iterator[Picture]:
    """One page at every size and in both themes, without loading it anew."""
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)  # pyright: ignore[reportArgumentType]
            page.wait_for_timeout(120)
            settle()
            yield Picture(view, row, size, theme, page.screenshot())


def page_pictures(
    browser: Browser, wanted: list[str], lengths: list[int], folder: Path
) -> Iterator[Picture]:
    """Every view of the registry: a page with tabs gives several, what it lacks gets its own."""
    for source, names in views_by_source().items():
        names = [name for name in names if name in wanted]
        for tokens in lengths if names else []:
            for row, read in SOURCES[source](tokens):
                left = sorted(names, key=lambda name: name != "neuron")  # its page holds the most
                while left:
                    path = folder / "page.html"
                    functions()[view_functions()[left[0]]](read).save(path)
                    page = browser.new_page()
                    page.on("pageerror", lambda error: print("error:", error))
                    page.goto(path.resolve().as_uri())
                    host = page.locator("[data-headscope]")
                    page.locator("[data-headscope].hs-ready").wait_for(timeout=60_000)
                    offered = {left[0], *host.evaluate(TABS)}
                    for view in [name for name in left if name in offered]:
                        yield from everywhere(page, view, row, partial(host.evaluate, OPEN, view))
                    left = [name for name in left if name not in offered]
                    page.close()


def sheet(pictures: list[Picture]) -> Image.Image:
    """One view in one theme: a row a length, a column a size."""
    rows = list(dict.fromkeys(picture.row for picture in pictures))
    widths = {name: round(wide * TALL / high) for name, (wide, high) in SIZES.items()}
    lefts = {
        name: sum(list(widths.values())[:at]) + GAP * (at + 1) for at, name in enumerate(SIZES)
    }
    dark = pictures[0].theme == "dark"
    wide, high = sum(widths.values()) + GAP * 4, (TALL + 20) * len(rows) + GAP
    made = Image.new("RGB", (wide, high), "#3a3a3a" if dark else "#c8c8c8")
    drawing = ImageDraw.Draw(made)
    for picture in pictures:
        top = rows.index(picture.row) * (TALL + 20) + 18
        whole = Image.open(io.BytesIO(picture.png)).convert("RGB")
        small = whole.resize((widths[picture.size], TALL), Image.Resampling.LANCZOS)
        made.paste(small, (lefts[picture.size], top))
        drawing.text((GAP, top - 15), picture.row, fill="#e0e0e0" if dark else "#202020")
    return made


def told() -> dict[str, str]:
    """Every view of the registry and every scene of the app, with what is to be seen."""
    views = {name: view.SHOWS for name, view in discover().items() if name not in OF_ANSWERS}
    return views | SCENES


def index() -> str:
    """The page that shows the sheets."""
    parts = [HEAD]
    for name, shows in told().items():
        title = name.replace("_", " ").capitalize()
        picture = f"../images/views/{name}-light.webp"
        alternative = f"{title}, at three sizes and several lengths: {shows}"
        large = f"[in full size]({picture}), [dark]({picture.replace('-light', '-dark')})"
        sentence = f"{shows[0].upper()}{shows[1:]}."
        parts.append(f"## {title}\n{sentence}\n\n![{alternative}]({picture})\n\n{large}\n")
    return "\n".join(parts)


def main() -> None:
    every = [*told()]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--views", nargs="*", choices=every, default=every)
    parser.add_argument("--tokens", type=int, nargs="*", default=list(LENGTHS))
    parser.add_argument("--large", type=Path, help="a folder for the pictures in full size")
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    taken: dict[tuple[str, str], list[Picture]] = {}
    begun = time.perf_counter()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as scratch:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        for pictures in (
            page_pictures(browser, arguments.views, arguments.tokens, Path(scratch)),
            app_pictures(browser, arguments.views, arguments.tokens, everywhere),
        ):
            for picture in pictures:
                taken.setdefault((picture.view, picture.theme), []).append(picture)
                if arguments.large:
                    arguments.large.mkdir(parents=True, exist_ok=True)
                    name = "-".join(picture[:4]).replace(" ", "_").replace(",", "")
                    (arguments.large / f"{name}.png").write_bytes(picture.png)
        browser.close()
    for (view, theme), pictures in taken.items():
        sheet(pictures).save(FOLDER / f"{view}-{theme}.webp", quality=QUALITY, method=6)
    INDEX.write_text(index(), "utf-8")
    size = sum(path.stat().st_size for path in FOLDER.glob("*.webp"))
    count = sum(map(len, taken.values()))
    print(f"{count} pictures in {time.perf_counter() - begun:.0f} s; sheets {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
