"""Examples of one kind of attention: the strongest of every head and measure, and those drawn.

Every position of a corpus has a fixed number (`scrambled`), and those with the lowest are drawn:
the same ones in whatever order and portions the corpus is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.atlas.collecting.heaviest import heaviest_keys
from headscope.atlas.collecting.ranked import EMPTY, Ranked, no_examples
from headscope.atlas.collecting.settings import ExampleSettings
from headscope.atlas.collecting.texts import KeptText, from_arrays, kept_text, to_arrays
from headscope.capture import Kind
from headscope.statistics.features.grid import Grid

if TYPE_CHECKING:
    from headscope.surveys.reducer import Batch

Array = NDArray[Any]
Ints = NDArray[np.int64]


class Examples:
    """State whose size depends on the model and the settings, not on the corpus."""

    def __init__(
        self, kind: Kind, heads: int, settings: ExampleSettings, ahead: Examples | None = None
    ) -> None:
        """`ahead` are examples that these will be merged with: whatever they would push out is
        skipped, which saves looking up its keys."""
        self._settings = settings
        self._entry = (np.inf, np.inf) if ahead is None else ahead.entry
        self._statistics = settings.applying(kind)
        self.names = tuple(statistic.name for statistic in self._statistics)
        count, keys = len(self.names), settings.keys
        self.strongest = no_examples((heads, count), (), (keys,))
        self.drawn = no_examples((), (heads, count), (heads, keys))
        self.positions = np.zeros((heads, count), dtype=np.int64)  # positions with a value
        self.texts: dict[int, KeptText] = {}
        self.key_texts: dict[int, KeptText] = {}  # if the keys are tokens of another text

    @property
    def entry(self) -> tuple[Any, Any]:
        """The orders above which no example enters the strongest (H M) or the drawn ones."""
        strongest = self.strongest.worst(self._settings.top)
        drawn = self.drawn.worst(self._settings.sample)
        return np.minimum(strongest, self._entry[0]), np.minimum(drawn, self._entry[1])

    def add(self, batch: Batch) -> None:
        """Take in a batch."""
        grid = batch.grid
        padding = ~grid.query.valid[:, None]
        every = [
            statistic.row_values(batch.rows, grid).masked_fill(padding, torch.nan)
            for statistic in self._statistics
        ]  # b H t each
        counted = [(~values.isnan()).sum((0, 2)) for values in every]
        self.positions += torch.stack(counted, 1).cpu().numpy()
        self._rank_strongest(every, grid)
        self._look_up(every, batch)
        if self._settings.text:
            self._keep_texts(batch)

    def _rank_strongest(self, every: Sequence[Tensor], grid: Grid) -> None:
        """Each document's best positions are candidates; the best are kept, without keys yet."""
        settings = self._settings
        in_order = np.argsort(grid.documents)
        value, query, place = _candidates(every, in_order, settings.per_document, settings.top)
        order = -value.astype(np.float64)
        there = np.isfinite(order) & (order <= self.entry[0][..., None])
        if not there.any():
            return
        new = Ranked(
            np.where(there, order, np.inf),
            np.where(there, grid.documents[in_order][place], EMPTY),
            query.astype(np.int32),
            value,
            np.full((*there.shape, settings.keys), -1, dtype=np.int32),
            np.zeros((*there.shape, settings.keys), dtype=np.float32),
        )
        self.strongest = self.strongest.merged(new, settings.top)

    def _look_up(self, every: Sequence[Tensor], batch: Batch) -> None:
        """Look up heaviest keys: a new strongest example's for its head, a drawn one's for all."""
        assert batch.maps is not None
        grid, settings, top = batch.grid, self._settings, self.strongest
        at = np.nonzero(np.isin(top.document, grid.documents))
        in_order = np.argsort(grid.documents)
        its_row = in_order[np.searchsorted(grid.documents[in_order], top.document[at])]
        order, row, query = self._lowest(grid)
        heads = np.arange(len(top.order))
        asked = [
            np.concatenate([own, of_drawn.ravel()]).astype(np.int64)
            for own, of_drawn in zip(
                (at[0], its_row, top.query[at]),
                np.broadcast_arrays(heads, row[:, None], query[:, None]),
                strict=True,
            )
        ]
        keys, weights = heaviest_keys(
            grid, batch.maps.calls, (asked[0], asked[1], asked[2]), settings.keys
        )
        count = len(its_row)
        top.keys[at], top.weights[at] = keys[:count], weights[:count]
        shape = (len(row), len(heads), settings.keys)
        new = Ranked(
            order,
            grid.documents[row],
            query.astype(np.int32),
            _values_at(every, row, query),
            keys[count:].reshape(shape),
            weights[count:].reshape(shape),
        )
        self.drawn = self.drawn.merged(new, settings.sample)

    def _lowest(self, grid: Grid) -> tuple[NDArray[np.float64], Ints, Ints]:
        """The positions with the lowest numbers so far: number, row and query."""
        number = grid.scrambled(self._settings.seed)
        row, query = np.nonzero(grid.real_queries & (number <= self.entry[1]))
        best = np.argsort(number[row, query], kind="stable")[: self._settings.sample]
        return number[row[best], query[best]], row[best], query[best]

    def _keep_texts(self, batch: Batch) -> None:
        wanted = self._documents()
        lengths, key_lengths = (
            of.valid.sum(1).tolist() for of in (batch.grid.query, batch.grid.key)
        )
        for row, number in enumerate(batch.documents.tolist()):
            if number in wanted:
                self.texts[number] = kept_text(batch.queries, row, lengths[row])
                if not batch.grid.same:
                    self.key_texts[number] = kept_text(batch.keys, row, key_lengths[row])
        self._forget_texts(wanted)

    def _documents(self) -> set[int]:
        """The documents that examples are in."""
        return {*self.strongest.documents().tolist(), *self.drawn.documents().tolist()}

    def _forget_texts(self, wanted: set[int]) -> None:
        self.texts = {number: text for number, text in self.texts.items() if number in wanted}
        self.key_texts = {n: text for n, text in self.key_texts.items() if n in wanted}

    def merge(self, other: Examples) -> None:
        self.strongest = self.strongest.merged(other.strongest, self._settings.top)
        self.drawn = self.drawn.merged(other.drawn, self._settings.sample)
        self.positions = self.positions + other.positions
        self.texts |= other.texts
        self.key_texts |= other.key_texts
        self._forget_texts(self._documents())

    def arrays(self) -> dict[str, Array]:
        parts = {
            "strongest": self.strongest.arrays(),
            "drawn": self.drawn.arrays(),
            "texts": to_arrays(self.texts),
            "key_texts": to_arrays(self.key_texts),
        }
        named = {
            f"{part}.{name}": of for part, found in parts.items() for name, of in found.items()
        }
        return {"positions": self.positions, **named}

    def restore(self, arrays: dict[str, Array]) -> None:
        def part(name: str) -> dict[str, Array]:
            start = f"{name}."
            return {k.removeprefix(start): v for k, v in arrays.items() if k.startswith(start)}

        self.positions = arrays["positions"]
        self.strongest, self.drawn = Ranked(**part("strongest")), Ranked(**part("drawn"))
        self.texts, self.key_texts = from_arrays(part("texts")), from_arrays(part("key_texts"))


def _candidates(
    every: Sequence[Tensor], in_order: Ints, per_document: int, top: int
) -> tuple[NDArray[np.float32], Ints, Ints]:
    """H M n each: value, query and document (its number in that order) of the candidates; the value
    is -inf in empty slots."""
    count = min(per_document, every[0].shape[2])
    found = [_best(values, count) for values in every]
    rows = torch.from_numpy(in_order).to(every[0].device)
    value, query = (
        torch.stack([one[part] for one in found])[:, rows].permute(2, 0, 1, 3).flatten(2)
        for part in (0, 1)
    )
    place = torch.arange(value.shape[2], device=value.device).expand(value.shape)
    if value.shape[2] > top:  # only so many are kept; ties go to the first
        value, place = (of[..., :top] for of in value.sort(dim=2, descending=True, stable=True))
        query = query.gather(2, place)
    return value.float().cpu().numpy(), query.cpu().numpy(), (place // count).cpu().numpy()


def _best(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """b H m: the largest of each row, ties to the first; -inf if there are fewer."""
    left = torch.nan_to_num(values, nan=-torch.inf)
    found: list[tuple[Tensor, Tensor]] = []
    for _ in range(count):
        best, at = left.max(-1)
        found.append((best, at))
        left = left.scatter(-1, at[..., None], -torch.inf)
    value, query = zip(*found, strict=True)
    return torch.stack(value, -1), torch.stack(query, -1)


def _values_at(every: Sequence[Tensor], row: Ints, query: Ints) -> NDArray[np.float32]:
    """n H M: the values (b H t each) of single positions."""
    at = torch.from_numpy(np.stack([row, query])).to(every[0].device)
    return torch.stack([values[at[0], :, at[1]] for values in every], -1).float().cpu().numpy()
