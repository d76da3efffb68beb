"""The study's inputs: the given data, or the shipped sample."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.corpus.sample import PARAGRAPHS, STORIES

if TYPE_CHECKING:
    from headscope.reading import Scope

PAPER_SEGMENTS = 1000


@dataclass
class ClarkInputs:
    """A scope, a data folder, and the limit."""

    scope: Scope
    data: Path | None
    limit: int | None  # of segments, sentences and documents alike; None: the paper's own
    absent: list[str] = field(default_factory=list[str])  # experiments without data

    @cached_property
    def segments(self) -> int:
        return self.limit or PAPER_SEGMENTS

    def text(self) -> Path:
        """Raw text for the surveys."""
        found = self._first("wikitext/wiki.test.raw", "wikitext/wiki.valid.raw", "wikitext", "text")
        return found or self._sample("raw text", "`wikitext/*.raw` or `text/`", PARAGRAPHS)

    def treebank(self, part: str) -> Path | None:
        """The train, dev or test part of a treebank; None when there is none of that part."""
        for folder in ("ud_english_ewt", "treebank"):
            if self.data is not None and (self.data / folder).is_dir():
                for path in sorted((self.data / folder).iterdir()):
                    if f"-{part}." in path.name or path.name.startswith(f"{part}."):
                        return path
        return None

    def treebank_or_sample(self) -> Path:
        return self.treebank("dev") or self._sample(
            "treebank", "`treebank/*-dev.conllu` and `*-test.conllu`", STORIES
        )

    def coreference(self) -> dict[str, Path]:
        """Corpora with coreference by name."""
        paths = {
            "OntoGUM": "ontogum/conllu.tar.xz",
            "LitBank": "litbank/conll.tar.xz",
            "GAP": "gap/gap-development.tsv",
            "given": "coreference",
        }
        found = {
            name: self.data / path
            for name, path in paths.items()
            if self.data is not None and (self.data / path).exists()
        }
        if not found:
            wanted = "`coreference/` with .conll, .conllu or .tsv files"
            found = {"sample": self._sample("coreference", wanted, STORIES)}
        return found

    def _first(self, *names: str) -> Path | None:
        if self.data is None:
            return None
        return next((self.data / n for n in names if (self.data / n).exists()), None)

    def _sample(self, what: str, wanted: str, path: Path) -> Path:
        note = (
            f"no {what} was given (put {wanted} into the data folder): the shipped sample is used"
        )
        if note not in self.absent:
            self.absent.append(note)
        return path


def printed(frame: pd.DataFrame) -> pd.DataFrame:
    """A table for the page: whole numbers without decimals, NaN as an empty cell."""
    return frame.astype(object).where(frame.notna(), None)


def reference() -> dict[str, Any]:
    """The paper's own numbers."""
    file = resources.files("headscope.studies.clark") / "published.json"
    return json.loads(file.read_text(encoding="utf-8"))


def at_same_depth(published: list[float], layers: int) -> NDArray[np.float64]:
    """A line over BERT-base's twelve layers, interpolated to another model's depth."""
    depth = (np.arange(len(published)) + 0.5) / len(published)
    return np.interp((np.arange(layers) + 0.5) / layers, depth, published)
