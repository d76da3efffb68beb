"""The reducers of a survey: statistics with their errors, and distances between heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.capture import Kind
from headscope.statistics.accumulator import Accumulator, BootstrapAccumulator, Moments
from headscope.statistics.features.feature import Feature, resolve
from headscope.statistics.features.rows import Fetched
from headscope.statistics.significance import FEWEST, warn_few
from headscope.statistics.statistic import Source, Statistic
from headscope.surveys.reducer import Arrays, Batch, Heads, Later

REPLICATES = 1000  # of a bootstrap interval


class Statistics:
    """Statistics of one source: an accumulator for each, and each kind of attention."""

    maps: float | None = None

    def __init__(
        self,
        statistics: Sequence[Statistic],
        source: Source = "corpus",
        *,
        interval: float | None = None,  # the level of a bootstrap interval
        seed: int = 0,
    ) -> None:
        self.source: Source = source
        self.name = f"statistics of {source}"
        self.statistics = tuple(one for one in statistics if one.source == source)
        self.interval, self._seed = interval, seed
        self.heads: dict[Kind, Heads] = {}
        self.parts: dict[tuple[Kind, str], Accumulator] = {}

    @property
    def texts(self) -> bool:
        return any(statistic.reads_text for statistic in self.statistics)

    def features(self, kind: Kind, causal: bool) -> Sequence[Feature]:
        return [resolve(f) for one in self._applying(kind, causal) for f in one.features()]

    def _applying(self, kind: Kind, causal: bool) -> list[Statistic]:
        return [one for one in self.statistics if one.applies(kind, causal)]

    def described(self) -> dict[str, Any]:
        replicates = 0 if self.interval is None else REPLICATES
        names = [statistic.name for statistic in self.statistics]
        return {"statistics": names, "replicates": replicates, "seed": self._seed}

    def fresh(self) -> Statistics:
        return Statistics(self.statistics, self.source, interval=self.interval, seed=self._seed)

    def add(self, batch: Batch) -> Later:
        kind = batch.kind
        self.heads.setdefault(kind, batch.heads)
        applying = self._applying(kind, batch.grid.causal)
        values = {one.name: one.measure(batch.rows, batch.grid).double() for one in applying}
        parts = {name: self._part(kind, name) for name in values}
        # mean and deviation are computed on the values' device; one copy for all, because every
        # copy waits for the device
        averaged = [name for name in values if isinstance(parts[name], Moments)]
        sums = _fetched([values.pop(name) for name in averaged], _moments)
        alike = [name for name, of in values.items() if of.dim() == 2]
        whole = _fetched([values.pop(name) for name in alike])

        def add_up() -> None:
            for name, (count, mean, deviations) in zip(averaged, sums.values.numpy(), strict=True):
                parts[name].merge(Moments.known(count, mean, deviations))
            for name, of in zip(alike, whole.values.numpy(), strict=True):
                parts[name].add(batch.documents, of)
            for name, of in values.items():
                parts[name].add(batch.documents, of.cpu().numpy())

        return add_up

    def _part(self, kind: Kind, name: str) -> Accumulator:
        if (kind, name) not in self.parts:
            heads = len(self.heads[kind])
            statistic = next(one for one in self.statistics if one.name == name)
            made = statistic.accumulator(heads)
            if self.interval is not None:
                made = BootstrapAccumulator(made, heads, REPLICATES, self._seed)
            self.parts[kind, name] = made
        return self.parts[kind, name]

    def merge(self, other: Statistics) -> None:
        self.heads = {**other.heads, **self.heads}
        for (kind, name), part in other.parts.items():
            self._part(kind, name).merge(part)

    def state(self) -> Arrays:
        kept: Arrays = {f"heads/{kind}": np.array(heads) for kind, heads in self.heads.items()}
        for (kind, name), part in self.parts.items():
            kept |= {f"part/{kind}/{name}/{key}": array for key, array in part.arrays().items()}
        return kept

    def restore(self, arrays: Arrays) -> None:
        self.heads = heads_of(arrays)
        grouped: dict[tuple[Kind, str], Arrays] = {}
        for path, array in arrays.items():
            if path.startswith("part/"):
                _, kind, name, key = path.split("/")
                grouped.setdefault((kind, name), {})[key] = array  # pyright: ignore[reportArgumentType]
        for (kind, name), state in grouped.items():
            self._part(kind, name).restore(state)

    def finish(self) -> dict[str, NDArray[Any]]:
        """The table's columns, with a row per head and statistic that is defined for it."""
        found: dict[str, list[NDArray[Any]]] = {}
        for (kind, name), part in self.parts.items():
            value, error, count = part.result()
            there = np.flatnonzero(count > 0)
            layer, head = np.array(self.heads[kind])[there].reshape(-1, 2).T
            columns: dict[str, NDArray[Any]] = {
                "kind": np.full(len(there), kind, dtype=object),
                "layer": layer,
                "head": head,
                "measure": np.full(len(there), name, dtype=object),
                "value": value[there],
                "error": error[there],
                "count": count[there],
            }
            if isinstance(part, BootstrapAccumulator) and self.interval is not None:
                low, high = part.interval(self.interval)
                if (most := int(count.max(initial=0))) < FEWEST:
                    warn_few(most, "documents")
                columns |= {"low": low[there], "high": high[there]}
            for column, values in columns.items():
                found.setdefault(column, []).append(values)
        return {column: np.concatenate(values) for column, values in found.items()}


def heads_of(arrays: Arrays) -> dict[Kind, Heads]:
    """Layer and head of each head, by kind of attention, from a saved state."""
    return {  # pyright: ignore[reportReturnType]
        path.removeprefix("heads/"): tuple((layer, head) for layer, head in array.tolist())
        for path, array in arrays.items()
        if path.startswith("heads/")
    }


def _fetched(values: list[Tensor], reduce: Any = None) -> Fetched:
    """S … of values of one shape, on their way to main memory."""
    if not values:
        return Fetched.of(torch.zeros(0))
    together = torch.stack(values)
    return Fetched.of(together if reduce is None else reduce(together))


def _moments(values: Tensor) -> Tensor:
    """S 3 H: count, mean and squared deviations over documents of values S b H; NaN if a document
    has none."""
    defined = ~values.isnan()
    count = defined.sum(1)
    mean = torch.where(defined, values, 0.0).sum(1) / count.clamp_min(1)
    apart = torch.where(defined, values - mean[:, None], 0.0)
    return torch.stack([count.double(), mean, apart.square().sum(1)], dim=1)


class Distances:
    """Distances between heads: sums of the Jensen–Shannon divergences of their rows."""

    source: Source = "corpus"
    name = "distances"
    texts = False

    def __init__(self, share: float = 1.0, seed: int = 0) -> None:
        self.maps: float | None = share
        self._seed = seed
        self.heads: dict[Kind, Heads] = {}
        self.sums: dict[Kind, NDArray[np.float64]] = {}  # H H
        self.rows: dict[Kind, int] = {}

    def features(self, kind: Kind, causal: bool) -> Sequence[Feature]:
        return ()

    def described(self) -> dict[str, Any]:
        return {"distances": self.maps, "seed": self._seed}

    def fresh(self) -> Distances:
        return Distances(self.maps or 0.0, self._seed)

    def add(self, batch: Batch) -> Later | None:
        if batch.kind == "cross":  # its rows have another text's length
            return None
        assert batch.maps is not None
        sums, rows = batch.maps.divergences()
        fetched = Fetched.of(sums)
        return lambda: self._take(batch.kind, batch.heads, fetched.values.numpy(), rows)

    def _take(self, kind: Kind, heads: Heads, sums: NDArray[np.float64], rows: int) -> None:
        self.heads.setdefault(kind, heads)
        self.sums[kind] = self.sums[kind] + sums if kind in self.sums else sums
        self.rows[kind] = self.rows.get(kind, 0) + rows

    def merge(self, other: Distances) -> None:
        for kind, sums in other.sums.items():
            self._take(kind, other.heads[kind], sums, other.rows[kind])

    def state(self) -> Arrays:
        kept: Arrays = {f"heads/{kind}": np.array(heads) for kind, heads in self.heads.items()}
        kept |= {f"sums/{kind}": sums for kind, sums in self.sums.items()}
        return kept | {f"rows/{kind}": np.array(rows) for kind, rows in self.rows.items()}

    def restore(self, arrays: Arrays) -> None:
        self.heads = heads_of(arrays)
        for kind in self.heads:
            self.sums[kind] = arrays[f"sums/{kind}"]
            self.rows[kind] = int(arrays[f"rows/{kind}"])

    def finish(self) -> dict[Kind, tuple[Heads, NDArray[np.float64]]]:
        """The mean divergence per row of any two heads, by kind of attention."""
        return {
            kind: (self.heads[kind], sums / max(self.rows[kind], 1))
            for kind, sums in self.sums.items()
        }
