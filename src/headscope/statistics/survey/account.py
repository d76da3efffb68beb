"""What a run says of its corpus: how much was read, what was cut, what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from headscope.text.tokens import Tokens

FEW_SEGMENTS = 3
MUCH_TEXT = 20_000  # characters that few segments are surprising for


def unread_characters(tokens: Iterable[Tokens]) -> tuple[int, int]:
    """How many characters some texts have, and how many of them come after their last token."""
    all_of_them = unread = 0
    for one in tokens:
        all_of_them += sum(len(text) for text in one.texts)
        if not one.is_truncated:
            continue
        for number, text in enumerate(one.texts):
            ends = one.spans[(one.segments == number) & (one.word_ids >= 0), 1]
            unread += len(text) - int(np.max(ends, initial=0))
    return all_of_them, unread


def account(about: Mapping[str, Any]) -> list[str]:
    """Sentences about a survey's corpus, from its metadata."""
    segments, documents = about["segments"], about.get("documents", about["segments"])
    said = [f"{documents:,} documents gave {segments:,} segments of {about['tokens']:,} tokens."]
    characters, unread = about.get("characters", 0), about.get("unread characters", 0)
    if about["truncated"]:
        longest = about["settings"]["max_tokens"]
        whose = "the model reads" if about.get("cut by model", True) else "was asked for"
        cut = about["truncated"]
        said.append(
            f"{cut:,} {'text was' if cut == 1 else 'texts were'} longer than {whose} ({longest} "
            f"tokens) and cut: {unread / max(characters, 1):.0%} of the text was not read."
        )
    if about["left out"]:
        said.append(about["left out"])
    if segments <= FEW_SEGMENTS and characters > MUCH_TEXT:
        said.append(
            f"So much text in {segments} segments is more than was read: if the file holds several "
            "texts, say so with --layout lines or paragraphs, or --segments pairs."
        )
    elif unread > characters / 2:
        said.append("Most of the text was not read; --segments windows reads all of it.")
    return said
