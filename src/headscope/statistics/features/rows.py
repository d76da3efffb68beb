"""Rows: the features of every query of a batch, for all heads of one kind of attention."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from headscope.corpus.text.batches import sent as sent
from headscope.statistics.features.grid import SELECTIONS, Grid

Made = TypeVar("Made")
SPAN = 2048  # queries that a GPU sums in single precision before double


class Rows:
    """Row features by name, and their means over a document's queries.

    The heads of all layers stand side by side (layer-major), so that a statistic is one
    computation per batch, not one per layer; `heads` says which is which.
    """

    def __init__(
        self,
        grid: Grid,
        heads: Sequence[tuple[int, int]],  # (layer, head)
        names: Sequence[str],
        values: Tensor,  # b H F t
        wide: dict[str, Tensor],  # b H t' width
        counts: Mapping[str, Tensor] | None = None,  # b t: of a pair feature, Σ over the keys
    ) -> None:
        self.grid = grid
        self.heads = tuple(heads)
        self._column = {name: column for column, name in enumerate(names)}
        self._values = values
        self._wide = wide
        self.counts: Mapping[str, Tensor] = counts or {}
        self._means: Tensor | None = None
        self._made: dict[object, Any] = {}

    def once(self, name: object, made: Callable[[], Made]) -> Made:
        """A result that several statistics share, computed on first use."""
        if name not in self._made:
            self._made[name] = made()
        return self._made[name]

    def __getitem__(self, name: str) -> Tensor:
        """b H t, or b H t' width for a wide feature. Rows of padded queries mean nothing."""
        if name in self._wide:
            return self._wide[name]
        return self._values[:, :, self._column[name]]

    def __contains__(self, name: str) -> bool:
        return name in self._wide or name in self._column

    def mean(self, name: str, queries: str | Tensor = "all") -> Tensor:
        """b H float64: the feature's mean over some queries; nan where there are none.

        `queries` names a selection (all, cls, sep, not_sep, content) or is a b t mask of weights.
        """
        if isinstance(queries, str):
            if self._means is None:  # every feature over every selection: one matrix product
                chosen = torch.stack([self.grid.select(s) for s in SELECTIONS], dim=-1)
                sums = _sum_over_queries(self._values, chosen.to(self._values.dtype))
                self._means = sums / chosen.sum(1)[:, None, None].double()  # 0 / 0 is nan
            return self._means[:, :, self._column[name], SELECTIONS.index(queries)]
        return self.mean_of(self[name], queries)

    def mean_of(self, values: Tensor, queries: str | Tensor = "all") -> Tensor:
        """b H float64: the same mean of values (b H t) that a statistic made of features."""
        chosen = self.grid.select(queries) if isinstance(queries, str) else queries
        weights = (chosen & self.grid.query.valid if chosen.dtype == torch.bool else chosen).to(
            values.dtype
        )
        total = _sum_over_queries(values[:, :, None], weights[..., None])[:, :, 0, 0]
        return total / weights.sum(1)[:, None].double()


def _sum_over_queries(values: Tensor, weights: Tensor) -> Tensor:
    """b H F t, b t S -> b H F S in double precision."""
    batch, heads, features, queries = values.shape
    flat = values.reshape(batch, heads * features, queries)
    if values.is_cuda:
        shape = (*flat.shape[:2], weights.shape[-1])
        total = torch.zeros(shape, dtype=torch.float64, device=flat.device)
        for start in range(0, queries, SPAN):
            part = slice(start, start + SPAN)
            total += torch.bmm(flat[:, :, part], weights[:, part])
    else:
        # in single precision a sum would depend on the number of features beside it; document by
        # document the doubles fit a processor's cache
        pairs = zip(flat, weights.double(), strict=True)
        total = torch.stack([one.double() @ chosen for one, chosen in pairs])
    return total.view(batch, heads, features, -1)


@dataclass(frozen=True)
class Fetched:
    """Values on their way to main memory: waiting for the copy would wait for all of the GPU's
    earlier work."""

    landing: Tensor
    arrived: torch.cuda.Event | None

    @staticmethod
    def of(values: Tensor) -> Fetched:
        if not values.is_cuda or not values.numel():
            return Fetched(values.cpu(), None)
        landing = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
        landing.copy_(values, non_blocking=True)
        arrived = torch.cuda.Event()
        arrived.record()
        return Fetched(landing, arrived)

    @property
    def values(self) -> Tensor:
        """The values; waits for the copy."""
        if self.arrived is not None:
            self.arrived.synchronize()
        return self.landing
