"""The gallery on the site: both themes of every picture, and a link to each live page made here."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

FOLDER = Path(__file__).parent / "gallery"
LIVE = re.compile(r"<!-- live ([\w-]+) -->")
PICTURE = re.compile(r"^!\[(.*)\]\(([\w./-]+)-light\.webp\)$", re.M)  # [SEP] may stand in it


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    if not page.file.src_uri.startswith("gallery/"):
        return markdown
    both = r"![\1](\2-light.webp#only-light)![\1](\2-dark.webp#only-dark)"
    return LIVE.sub(_link, PICTURE.sub(both, markdown))


def _link(match: re.Match[str]) -> str:
    name = match[1]
    if not (FOLDER / "pages" / f"{name}.html").is_file():
        return ""
    shown = [f"[open the live page](pages/{name}.html)"]
    for theme in ("light", "dark"):
        if (FOLDER / "pictures" / f"{name}-{theme}.png").is_file():
            shown.append(f"[{theme} picture](pictures/{name}-{theme}.png)")
    return " · ".join(shown)
