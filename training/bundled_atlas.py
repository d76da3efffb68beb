"""The atlas that comes with the bundled model, made of headscope's own documentation.

    python -m training.bundled_atlas

The text is ours, so that excerpts of it may be shipped with the package.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import headscope as hs
from headscope.atlas.bundled import FILE

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "docs", "src/headscope/models/bundled")


def prose(path: Path) -> Iterator[str]:
    """The paragraphs of a page that are sentences: no code, tables, lists of names or headings."""
    text = re.sub(r"```.*?```", "\n\n", path.read_text("utf-8"), flags=re.S)
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [line for line in paragraph.splitlines() if not re.match(r"\s*[|#<!:]", line)]
        plain = " ".join(line.strip().lstrip("-* ") for line in lines)
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", plain)
        plain = re.sub(r"[`*_]", "", plain)
        if len(plain.split()) >= 12 and plain.count(".") < len(plain) / 20:
            yield plain


def texts() -> list[str]:
    pages = [ROOT / name for name in PAGES]
    files = [
        file for page in pages for file in (sorted(page.rglob("*.md")) if page.is_dir() else [page])
    ]
    left_out = {"cli.md", "families.md", "measures.md"}  # made by programs
    return [part for file in files if file.name not in left_out for part in prose(file)]


def main() -> None:
    hs.atlas(
        hs.load(), texts(), segments="pairs", max_tokens=64, top=10, per_decile=1, output=FILE,
        restart=True,
    )  # fmt: skip


if __name__ == "__main__":
    main()
