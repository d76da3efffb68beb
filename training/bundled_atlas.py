"""The atlas that comes with the bundled model, made of chapters of four novels.

    python -m training.bundled_atlas

Chapters of "The Blue Castle" (L. M. Montgomery), "The Age of Innocence" (Edith Wharton), "The
Forsyte Saga" (John Galsworthy) and "An American Tragedy" (Theodore Dreiser), which the model was
not trained on: `training.corpus` holds them out. The text comes with the package, a paragraph or a
short exchange a line (`headscope.corpus.sample`).
"""

from __future__ import annotations

from pathlib import Path

import torch

import headscope as hs
from headscope.atlas.bundled import FILE
from headscope.corpus.sample import NOVELS


def texts() -> list[str]:
    """The paragraphs that the atlas was made of."""
    return NOVELS.read_text("utf-8").splitlines()


def main() -> None:
    torch.set_num_threads(1)
    make(FILE)


def make(output: Path) -> None:
    hs.atlas(
        hs.load(), texts(), segments="pairs", max_tokens=64, top=10, per_decile=1, output=output,
        restart=True,
    )  # fmt: skip


if __name__ == "__main__":
    main()
