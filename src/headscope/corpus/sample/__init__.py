"""A small sample, written for headscope: trees with coreference, and plain paragraphs.

Licence: Apache-2.0, as the rest of the package. It lets every probe and study run anywhere; it
is far too small for conclusions.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
STORIES = FOLDER / "stories.conllu"  # 36 sentences in six stories: UD trees, Entity= brackets
PARAGRAPHS = FOLDER / "paragraphs.txt"  # twelve paragraphs
RELATIONS = FOLDER / "relations.jsonl"  # targets and elements by character
