"""The grid of one map: which token is at each query and key, and what each query may see."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from headscope.models.tokens import TokenClass, Tokens

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Grid:
    """Query and key tokens of one map, and the keys each query may attend to.

    `likeness` is the cosine of the tokens' static embeddings, when the model has them.
    """

    query: Tokens
    key: Tokens
    visible: Bools  # t s
    likeness: Floats | None = None  # t s

    @property
    def shape(self) -> tuple[int, int]:
        return self.visible.shape[0], self.visible.shape[1]

    @cached_property
    def square(self) -> bool:
        """Whether queries and keys are the same tokens (self-attention)."""
        return self.query is self.key

    @cached_property
    def causal(self) -> bool:
        """Whether no query sees a later key."""
        return self.square and len(self.visible) > 1 and not bool(np.triu(self.visible, 1).any())

    @cached_property
    def offset(self) -> NDArray[np.int64]:
        """Key position minus query position, t s."""
        t, s = self.shape
        return np.arange(s)[None, :] - np.arange(t)[:, None]

    @cached_property
    def content(self) -> Bools:
        """Visible pairs of two tokens that are not special, t s."""
        return self.query.content[:, None] & self.key.content[None, :] & self.visible

    @cached_property
    def word_pairs(self) -> Bools:
        """Visible pairs of two word tokens, punctuation left out, t s."""
        query = self.query.classes == TokenClass.WORD
        key = self.key.classes == TokenClass.WORD
        return query[:, None] & key[None, :] & self.visible

    @cached_property
    def same_segment(self) -> Bools:
        return self.query.segments[:, None] == self.key.segments[None, :]

    @cached_property
    def same_token(self) -> Bools:
        """Pairs spelled alike, whatever their case and whether a space comes before them."""
        both = [label.casefold() for label in (*self.query.labels, *self.key.labels)]
        number = np.unique(both, return_inverse=True)[1]
        return number[: self.shape[0], None] == number[None, self.shape[0] :]

    @cached_property
    def pair(self) -> bool:
        """Whether the text has two sentences."""
        return len(np.unique(self.key.segments)) > 1


def grid_of(
    query: Tokens,
    key: Tokens | None = None,
    mask: Bools | None = None,
    likeness: Floats | None = None,
) -> Grid:
    """The grid of a map; without a mask every query sees every key."""
    keys = query if key is None else key
    shape = (len(query), len(keys))
    visible = np.ones(shape, bool) if mask is None else np.broadcast_to(mask, shape)
    return Grid(query, keys, visible, likeness)
