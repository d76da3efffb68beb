"""The gallery on the site: both themes of every picture, and a link to each live page made here."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlencode

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

FOLDER = Path(__file__).parent / "gallery"
LIVE = re.compile(r"<!-- live ([\w-]+) -->(.*?```python\n(.*?)```)", re.S)
READ = re.compile(r"hs\.load\(\)\.read\(\"([^\"]*)\"(?:, \"([^\"]*)\")?\)")  # the bundled model
SHOWN = re.compile(r"hs\.(\w+)_view\(reading(?:, (\d+)(?:, \[([\d, ]+)\])?)?")
PICTURE = re.compile(r"^!\[(.*)\]\(([\w./-]+)-light\.webp\)$", re.M)  # [SEP] may stand in it


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    if not page.file.src_uri.startswith("gallery/"):
        return markdown
    both = r"![\1](\2-light.webp#only-light)![\1](\2-dark.webp#only-dark)"
    return LIVE.sub(_link, PICTURE.sub(both, markdown))


def _link(match: re.Match[str]) -> str:
    name, after, code = match.groups()
    own = _own_text(code)
    shown = [f"[your own text]({own})"] if own else []
    if (FOLDER / "pages" / f"{name}.html").is_file():
        shown.insert(0, f"[open the page](pages/{name}.html)")
        for theme in ("light", "dark"):
            if (FOLDER / "pictures" / f"{name}-{theme}.png").is_file():
                shown.append(f"[{theme} picture](pictures/{name}-{theme}.png)")
    return " · ".join(shown) + after


def _own_text(code: str) -> str | None:
    """The same picture in the page in which the bundled model runs."""
    read, drawn = READ.search(code), SHOWN.search(code)
    if (
        read is None
        or drawn is None
        or drawn[1] not in ("head", "model", "neuron", "matrix", "text")
    ):
        return None
    heads = (drawn[3] or "").replace(", ", ".")
    state = {"text": read[1], "pair": read[2], "view": drawn[1], "layer": drawn[2], "heads": heads}
    state["head"] = heads.split(".")[0]
    return "../live/index.html#" + urlencode({name: one for name, one in state.items() if one})
