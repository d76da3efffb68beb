"""A batch's tokens, on the grid of its attention maps."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headscope.capture import Kind
from headscope.corpus.text.batches import PADDING, Arrays, TextBatch, sent, side_arrays
from headscope.errors import BadInput
from headscope.text.spelling import TokenClass
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading import Scope


CLS, SEP, SPECIAL, PUNCTUATION, WORD = (int(token_class) for token_class in TokenClass)


@dataclass(frozen=True)
class Side:
    """The tokens along one axis of the maps: the queries, or the keys."""

    ids: Tensor  # b n int64
    classes: Tensor  # b n int8: CLS, SEP, SPECIAL, PUNCTUATION, WORD or PADDING
    segments: Tensor  # b n int8: 0 = sentence A, 1 = sentence B
    words: Tensor  # b n int32: word number, -1 for specials
    stops: Tensor  # b n bool: a full stop or a comma

    @cached_property
    def valid(self) -> Tensor:
        """b n bool: a real token."""
        return self.classes != PADDING

    @cached_property
    def start(self) -> Tensor:
        """b int64: the position of the first real token (left padding moves it)."""
        return self.valid.to(torch.int8).argmax(dim=1)

    @cached_property
    def lengths(self) -> Tensor:
        """b int64: how many real tokens there are."""
        return self.valid.sum(dim=1)

    def part(self, chosen: slice | tuple[slice, slice]) -> Side:
        """Some of the documents, or of their tokens."""
        every = (self.ids, self.classes, self.segments, self.words, self.stops)
        return Side(*(tensor[chosen] for tensor in every))

    @staticmethod
    def on(device: torch.device, arrays: Mapping[str, NDArray[Any]]) -> Side:
        """The arrays of `side_arrays`, on a device."""
        return Side(**{name: sent(array, device) for name, array in arrays.items()})


@dataclass(frozen=True)
class Grid:
    """The queries and keys of one batch for one kind of attention."""

    kind: Kind
    causal: bool
    query: Side
    key: Side
    documents: NDArray[np.int64]  # b: the number of each document in its corpus
    period: int | None = None  # tokens after which a text of repeated random tokens repeats
    offset: int = 0  # the key position of query 0, above 0 when only the last queries are computed
    model: nn.Module | None = None  # for features that need more than a call's module
    tokens: Sequence[Tokens] | None = None  # b: the texts themselves, those of the queries
    key_tokens: Sequence[Tokens] | None = None  # b: of the keys, if they are other texts

    @property
    def same(self) -> bool:
        """Whether queries and keys are the same tokens."""
        return self.kind != "cross"

    @property
    def on_gpu(self) -> bool:
        """Whether batches are processed whole instead of text by text."""
        return self.key.ids.is_cuda

    @cached_property
    def all_keys_valid(self) -> bool:
        """Whether no document is padded."""
        return bool(self.key.valid.all())

    @cached_property
    def left_padded(self) -> bool:
        """Whether some text does not start at the first position."""
        return not self.all_keys_valid and bool((self.key.start > 0).any())

    @cached_property
    def real_queries(self) -> NDArray[np.bool_]:
        """b t, in main memory: the queries that are tokens."""
        return self.query.valid.cpu().numpy()

    @cached_property
    def key_ids(self) -> NDArray[np.integer[Any]]:
        """b s, in main memory: the keys' tokens."""
        return self.key.ids.cpu().numpy()

    def scrambled(self, seed: int) -> NDArray[np.float64]:
        """b t, in main memory: the fixed number of every query of the corpus."""
        if ("scrambled", seed) not in self.memo:
            queries = np.arange(self.query.ids.shape[1], dtype=np.int64)
            self.memo["scrambled", seed] = scrambled(self.documents[:, None], queries[None], seed)
        return self.memo["scrambled", seed]

    def known(self, queries: Mapping[str, NDArray[Any]], keys: Mapping[str, NDArray[Any]]) -> Grid:
        """The same grid, padded on the right, with the arrays in main memory: reading its tensors
        would wait for a GPU."""
        self.__dict__["real_queries"] = queries["classes"] != PADDING
        self.__dict__["key_ids"] = keys["ids"]
        self.__dict__["all_keys_valid"] = bool((keys["classes"] != PADDING).all())
        self.__dict__["left_padded"] = False
        return self

    def select(self, name: str) -> Tensor:
        """b t bool: the queries of that name (see `SELECTIONS`)."""
        valid, classes = self.query.valid, self.query.classes
        if name == "all":
            return valid
        if name == "cls":
            return classes == CLS
        if name == "sep":
            return classes == SEP
        if name == "not_sep":
            return valid & (classes != SEP)
        if name == "content":
            return classes >= PUNCTUATION
        raise BadInput(f"No queries are called {name!r}; there are {', '.join(SELECTIONS)}.")

    def of_queries(self, chosen: slice) -> Grid:
        """The grid's rows for some neighbouring queries, with all keys before them."""
        whole = slice(None)
        query = self.query.part((whole, chosen))
        return dataclasses.replace(self, query=query, offset=self.offset + (chosen.start or 0))

    def of_keys(self, count: int) -> Grid:
        """The grid's columns for the first keys."""
        return dataclasses.replace(self, key=self.key.part((slice(None), slice(0, count))))

    @cached_property
    def memo(self) -> dict[object, Any]:
        """Cached results that depend on tokens alone, shared by all layers."""
        return {}

    def of_documents(self, chosen: slice) -> Grid:
        """The part of the grid for some of the documents; the same object for every layer."""
        key = ("documents", chosen.start, chosen.stop)
        if key not in self.memo:
            self.memo[key] = self._of_documents(chosen)
        return self.memo[key]

    def _of_documents(self, chosen: slice) -> Grid:
        query = self.query.part(chosen)
        key = query if self.key is self.query else self.key.part(chosen)
        texts = {
            name: of[chosen]
            for name, of in (("tokens", self.tokens), ("key_tokens", self.key_tokens))
            if of is not None
        }
        documents = self.documents[chosen]
        return dataclasses.replace(self, query=query, key=key, documents=documents, **texts)


SELECTIONS = ("all", "cls", "sep", "not_sep", "content")


def side(tokens: Sequence[Tokens], width: int, device: torch.device) -> Side:
    """The tokens of a batch, padded on the right to `width` positions."""
    return Side.on(device, side_arrays(tokens, width))


def sides_of(batch: TextBatch, kind: Kind) -> tuple[Arrays, Arrays]:
    """The queries and the keys of one kind of attention, in main memory."""
    written = batch.decoder_side or batch.side
    read = batch.side if kind != "decoder" else written
    return (batch.side if kind == "encoder" else written), read


def grids(scope: Scope, batch: TextBatch) -> dict[Kind, Grid]:
    """A grid for every kind of attention the scope's model has."""
    read = Side.on(scope.device, batch.side)
    written = read if batch.decoder_side is None else Side.on(scope.device, batch.decoder_side)
    said = batch.decoder_tokens or batch.tokens
    found: dict[Kind, Grid] = {}
    for kind in scope.kinds:
        query, tokens = (read, batch.tokens) if kind == "encoder" else (written, said)
        key = written if kind == "decoder" else read
        grid = Grid(
            kind, kind == "decoder", query, key, batch.documents, model=scope.model, tokens=tokens,
            key_tokens=batch.tokens if kind == "cross" else None,
        )  # fmt: skip
        found[kind] = grid.known(*sides_of(batch, kind))
    return found


def grid_of(
    tokens: Sequence[Tokens],
    keys: Sequence[Tokens] | None = None,
    kind: Kind = "encoder",
    causal: bool = False,
    device: torch.device | str = "cpu",
) -> Grid:
    """A grid of texts that were read before."""

    def padded(texts: Sequence[Tokens]) -> Side:
        return side(texts, max(len(text) for text in texts), torch.device(device))

    query = padded(tokens)
    key = query if keys is None else padded(keys)
    same = None if keys is not None else tokens
    return Grid(kind, causal, query, key, np.arange(len(tokens)), tokens=same)


def scrambled(
    documents: NDArray[np.int64], queries: NDArray[np.int64], seed: int
) -> NDArray[np.float64]:
    """In [0, 1), from the document, the query and the seed: a sample by it is the same in any order
    and split."""
    with np.errstate(over="ignore"):
        mixed = documents.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed = mixed + queries.astype(np.uint64) * np.uint64(0xD1B54A32D192ED03)
        mixed = mixed + np.uint64(seed) * np.uint64(0x94D049BB133111EB) + np.uint64(1)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        mixed = mixed ^ (mixed >> np.uint64(31))
    return (mixed >> np.uint64(11)).astype(np.float64) / 2.0**53
