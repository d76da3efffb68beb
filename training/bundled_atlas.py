"""The atlas that comes with the bundled model, made of headscope's own documentation.

    python -m training.bundled_atlas            # of the text kept in bundled_atlas.txt
    python -m training.bundled_atlas --gather   # gather that text from the pages first

The text is ours, so that excerpts of it may be shipped with the package. It is kept, one paragraph
a line, because pages change: the same text gives the same atlas.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import torch

import headscope as hs
from headscope.atlas.bundled import FILE

ROOT = Path(__file__).parents[1]
TEXT = Path(__file__).with_name("bundled_atlas.txt")
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
    """The paragraphs that the atlas was made of."""
    return TEXT.read_text("utf-8").splitlines()


def gathered() -> list[str]:
    """The paragraphs of the pages as they are now."""
    pages = [ROOT / name for name in PAGES]
    files = [
        file for page in pages for file in (sorted(page.rglob("*.md")) if page.is_dir() else [page])
    ]
    left_out = {"cli.md", "families.md", "measures.md"}  # made by programs
    return [part for file in files if file.name not in left_out for part in prose(file)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gather", action="store_true", help="take the text from the pages anew")
    if parser.parse_args().gather:
        TEXT.write_text("".join(f"{each}\n" for each in gathered()), "utf-8")
    torch.set_num_threads(1)
    make(FILE)


def make(output: Path) -> None:
    hs.atlas(
        hs.load(), texts(), segments="pairs", max_tokens=64, top=10, per_decile=1, output=output,
        restart=True,
    )  # fmt: skip


if __name__ == "__main__":
    main()
