"""Pools: the keys a pattern chooses from. Patterns that name the same pool share its sums."""

from __future__ import annotations

from torch import Tensor

from headscope.patterns.token_pairs import Sheet


def content(sheet: Sheet) -> Tensor:
    """All words and punctuation the query sees."""
    return sheet.content


def everything(sheet: Sheet) -> Tensor:
    """All a content token sees, special tokens too."""
    return sheet.from_content


def other_words(sheet: Sheet) -> Tensor:
    """All other words the query sees."""
    return sheet.words


def words_across(sheet: Sheet) -> Tensor:
    """The words of the other sentence."""
    return sheet.words & ~sheet.same_segment & sheet.pair


def earlier(sheet: Sheet) -> Tensor:
    """Words and punctuation before the query."""
    return sheet.content & (sheet.offset < 0)
