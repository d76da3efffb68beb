"""Every view, light and dark, at 8, 128, 512 and 2,000 tokens and three sizes, on one page.

    python web/dev/gallery.py FOLDER [--tokens 8 128] [--model NAME] [--views head text]

Writes FOLDER/index.html with its pictures beside it, and sheet-*.png with the six pictures of one
view, to be looked at in one go. Views are found, not listed. Without --model a text is read by the
first model that reads so much: the bundled one, all-MiniLM-L6-v2, SmolLM2 (those of
requirements/models.txt).
"""

from __future__ import annotations

import argparse
import html
import importlib.util
from pathlib import Path

from examples.gallery import WEIGHTS, weights
from PIL import Image
from playwright.sync_api import Page, sync_playwright

import headscope as hs

SIZES = {"desk": (1440, 900), "laptop": (1024, 768), "phone": (390, 844)}
SHEET = 900  # pixels of the widest picture on a sheet
SENTENCES = (
    "The committee met on Tuesday to discuss the bridge over the river, which had been closed "
    "since the storm. Its chair, who had seen the damage herself, asked the engineers how long "
    "the repair would take. They said that the bridge could be opened in spring, if the weather "
    "held and the money came. Nobody in the room believed that it would. "
)
OPEN = """async (host, view) => {
  host.headscope.set({view});
  await host.headscope.painted();
}"""
VIEWS = (
    """host => [...host.shadowRoot.querySelectorAll('[role=tab]')].map(tab => tab.dataset.view)"""
)


def text_of(scope: hs.Scope, tokens: int) -> str:
    """About so many tokens of plain prose."""
    words = (SENTENCES * (tokens // 60 + 1)).split()
    low, high = 1, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        count = len(scope.tokenizer(" ".join(words[:middle]), verbose=False)["input_ids"])
        low, high = (middle, high) if count <= tokens else (low, middle - 1)
    return " ".join(words[:low])


def model_for(tokens: int) -> hs.Scope | None:
    """The first that reads so much; None where no such model is installed."""
    for name in (None, "minilm", "smollm2"):
        if name is not None and importlib.util.find_spec(WEIGHTS[name][0]) is None:
            continue
        scope = hs.load() if name is None else hs.load(weights(name))
        if scope.max_tokens is None or scope.max_tokens >= tokens:
            return scope
    return None


def sheets(folder: Path, taken: list[str]) -> None:
    """The pictures of one view of one text side by side: light above dark."""
    groups: dict[str, list[str]] = {}
    for name in taken:
        groups.setdefault(name.rsplit("-", 2)[0], []).append(name)
    for group, names in groups.items():
        sheet = Image.new("RGB", (SHEET * 2 + SHEET // 2, 2 * (SHEET * 3 // 4 + 10)), "#888888")
        left = {"light": 10, "dark": 10}
        for name in names:
            scheme = name.rsplit("-", 1)[1].removesuffix(".png")
            picture = Image.open(folder / name).convert("RGB")
            picture.thumbnail((SHEET, SHEET * 3 // 4))
            sheet.paste(picture, (left[scheme], 5 + (scheme == "dark") * (SHEET * 3 // 4 + 10)))
            left[scheme] += picture.width + 10
        sheet.save(folder / f"sheet-{group}.png")


def take(page: Page, folder: Path, name: str, views: list[str] | None) -> list[str]:
    host = page.locator("[data-headscope]")
    taken = []
    for view in [each for each in host.evaluate(VIEWS) if views is None or each in views]:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            for size, (width, height) in SIZES.items():
                page.set_viewport_size({"width": width, "height": height})
                host.evaluate(OPEN, view)
                page.wait_for_timeout(120)
                path = folder / f"{name}-{view}-{size}-{scheme}.png"
                page.screenshot(path=path)
                taken.append(path.name)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tokens", type=int, nargs="*", default=[8, 128, 512, 2000])
    parser.add_argument("--model", help="a name or folder; the bundled model unless told")
    parser.add_argument("--views", nargs="*")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    taken: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        for tokens in arguments.tokens:
            scope = hs.load(arguments.model) if arguments.model else model_for(tokens)
            if scope is None or (scope.max_tokens is not None and tokens > scope.max_tokens):
                print(f"no model here reads {tokens} tokens")
                continue
            path = arguments.folder / f"{tokens}.html"
            hs.neuron_view(scope.read(text_of(scope, tokens))).save(path)  # with q and k
            page = browser.new_page()
            page.on("pageerror", lambda error: print("error:", error))
            page.goto(path.resolve().as_uri())
            page.locator("[data-headscope].hs-ready").wait_for(timeout=60_000)
            taken += take(page, arguments.folder, str(tokens), arguments.views)
            page.close()
        browser.close()
    pictures = "\n".join(
        f'<figure><a href="{name}"><img src="{name}" loading="lazy"></a>'
        f"<figcaption>{html.escape(name)}</figcaption></figure>"
        for name in taken
    )
    style = "body{display:flex;flex-wrap:wrap;gap:8px;font:12px sans-serif}img{height:300px}"
    page_text = f"<!doctype html><title>views</title><style>{style}</style>{pictures}"
    (arguments.folder / "index.html").write_text(page_text, "utf-8")
    sheets(arguments.folder, taken)
    print(f"{len(taken)} pictures in {arguments.folder / 'index.html'}")


if __name__ == "__main__":
    main()
