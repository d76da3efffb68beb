"""A small sample, written for headscope: trees with coreference, paragraphs, relations, a task.

Licence: Apache-2.0, as the rest of the package. Its name `sample` lets every command and study run
anywhere; it is far too small for conclusions.

Beside it, paragraphs of four novels, of which atlases are made. They are free: in the public domain
in the USA, and where copyright ends 70 years after an author's death; the edition is that of
Standard Ebooks, under CC0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

SAMPLE = "sample"  # accepted instead of a path, unless a file has that name
FOLDER = Path(__file__).parent
STORIES = FOLDER / "stories.conllu"  # 36 sentences in six stories: UD trees, Entity= brackets
PARAGRAPHS = FOLDER / "paragraphs.txt"  # twelve paragraphs
RELATIONS = FOLDER / "relations.jsonl"  # targets and elements by character
OPINIONS = FOLDER / "opinions.tsv"  # 48 positive or negative sentences
NOVELS = FOLDER / "novels.txt"  # 209 paragraphs or short exchanges, one a line


def or_sample(given: Any, sample: Path) -> Any:
    """The argument, or the shipped file if it is "sample"."""
    asked = isinstance(given, str) and given == SAMPLE
    return sample if asked and not Path(SAMPLE).exists() else given
