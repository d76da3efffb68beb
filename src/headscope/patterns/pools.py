"""Pools: the keys a pattern chooses from. Patterns that name the same pool share its sums."""

from __future__ import annotations

from torch import Tensor

from headscope.patterns.token_pairs import TokenPairs


def content(pairs: TokenPairs) -> Tensor:
    """All words and punctuation the query sees."""
    return pairs.content


def everything(pairs: TokenPairs) -> Tensor:
    """All a content token sees, special tokens too."""
    return pairs.from_content


def other_words(pairs: TokenPairs) -> Tensor:
    """All other words the query sees."""
    return pairs.words


def words_across(pairs: TokenPairs) -> Tensor:
    """The words of the other sentence."""
    return pairs.words & ~pairs.same_segment & pairs.pair


def earlier(pairs: TokenPairs) -> Tensor:
    """Words and punctuation before the query."""
    return pairs.content & (pairs.offset < 0)
