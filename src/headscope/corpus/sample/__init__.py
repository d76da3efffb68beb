"""A small sample, written for headscope: trees with coreference, paragraphs, relations, a task.

Licence: Apache-2.0, as the rest of the package. It lets every command and study run anywhere
under the name `sample`; it is far too small for conclusions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

SAMPLE = "sample"  # wherever data is asked for, unless a file of that name is there
FOLDER = Path(__file__).parent
STORIES = FOLDER / "stories.conllu"  # 36 sentences in six stories: UD trees, Entity= brackets
PARAGRAPHS = FOLDER / "paragraphs.txt"  # twelve paragraphs
RELATIONS = FOLDER / "relations.jsonl"  # targets and elements by character
OPINIONS = FOLDER / "opinions.tsv"  # 48 sentences that praise or blame


def or_sample(given: Any, sample: Path) -> Any:
    """What was given, or the shipped file where its name was."""
    asked = isinstance(given, str) and given == SAMPLE
    return sample if asked and not Path(SAMPLE).exists() else given
