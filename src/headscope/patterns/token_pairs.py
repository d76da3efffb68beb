"""Pairs of tokens a pattern can point at, for some queries of a batch.

Every relation is a mask over documents, queries and keys (b tq s). Visibility follows from padding
and causality. Sliding windows are ignored, so a pattern's pool also counts keys outside the window.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import torch
from torch import Tensor

from headscope.statistics.features.feature import positions_of
from headscope.statistics.features.grid import PUNCTUATION, WORD, Grid

SPAN = 512  # queries processed together


class TokenPairs:
    """Relations between `queries` and all keys, each computed on first use."""

    def __init__(self, grid: Grid, queries: slice) -> None:
        self.grid = grid
        self.queries = queries

    @cached_property
    def offset(self) -> Tensor:
        """Key position minus query position, 1 tq s."""
        query, key = positions_of(self.grid, self.queries)
        return (key - query)[None]

    @cached_property
    def visible(self) -> Tensor:
        """The query is a real token and may attend to the key."""
        real = self._query(self.grid.query.valid) & self.grid.key.valid[:, None, :]
        return real & (self.offset <= 0) if self.grid.causal else real

    @cached_property
    def from_content(self) -> Tensor:
        """Visible keys of queries that are not special."""
        return self._query(self.grid.query.classes >= PUNCTUATION) & self.visible

    @cached_property
    def content(self) -> Tensor:
        """Visible pairs of which neither token is special."""
        return self.from_content & (self.grid.key.classes >= PUNCTUATION)[:, None, :]

    @cached_property
    def words(self) -> Tensor:
        """Visible pairs of two different tokens that are words, not punctuation."""
        query = self._query(self.grid.query.classes == WORD)
        key = (self.grid.key.classes == WORD)[:, None, :]
        return query & key & self.visible & (self.offset != 0)

    @cached_property
    def same_segment(self) -> Tensor:
        return self._query(self.grid.query.segments) == self.grid.key.segments[:, None, :]

    @cached_property
    def same_token(self) -> Tensor:
        return self._query(self.grid.query.ids) == self.grid.key.ids[:, None, :]

    @cached_property
    def pieces_of_one_word(self) -> Tensor:
        query = self._query(self.grid.query.words)
        return (query == self.grid.key.words[:, None, :]) & (query >= 0)

    @cached_property
    def pair(self) -> Tensor:
        """The document has two sentences, b 1 1."""
        return (self.grid.key.segments == 1).any(1)[:, None, None]

    @cached_property
    def key_position(self) -> Tensor:
        """The key's position in its own text, counted from its first real token, b 1 s."""
        positions = torch.arange(self.grid.key.ids.shape[1], device=self.grid.key.ids.device)
        return (positions[None] - self.grid.key.start[:, None])[:, None]

    def special(self, token_class: int, number: int) -> Tensor:
        """The key is the first, second, … token of a special class, b 1 s."""
        found = self.grid.key.classes == token_class
        return (found & (found.cumsum(1) == number))[:, None]

    def _query(self, values: Tensor) -> Tensor:
        return values[:, self.queries, None]


_last: dict[str, TokenPairs] = {}


def token_pairs_of(grid: Grid, queries: slice) -> TokenPairs:
    """The pairs of some queries, cached for the features of one block."""
    kept = _last.get("pairs")
    if kept is None or kept.grid is not grid or kept.queries != queries:
        kept = _last["pairs"] = TokenPairs(grid, queries)
    return kept


def blocks_of_pairs(grid: Grid) -> Iterator[TokenPairs]:
    """All queries of a grid in blocks, so that no whole map of relations is needed."""
    length = grid.query.ids.shape[1]
    for start in range(0, length, SPAN):
        yield token_pairs_of(grid, slice(start, min(length, start + SPAN)))


def visible_keys(grid: Grid) -> Tensor:
    """b t: how many keys each query sees, without making pairs."""
    count = grid.query.ids.shape[1]
    if grid.causal:
        positions = torch.arange(count, device=grid.key.ids.device) + grid.offset
        seen = grid.key.valid.cumsum(1)[:, positions]
    else:
        seen = grid.key.valid.sum(1, keepdim=True).expand(-1, count)
    return seen * grid.query.valid


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
