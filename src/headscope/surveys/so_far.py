"""What a run has measured so far, and which portions: kept as its state, and its account."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from headscope.corpus.bad_data import Choice, Faults
from headscope.corpus.text.batches import Amount
from headscope.corpus.text.documents import Shard
from headscope.runs import State
from headscope.surveys.corpus import Portion, Taken
from headscope.surveys.measure import Measured
from headscope.surveys.reducer import Reducer


@dataclasses.dataclass
class _Open:
    """A shard that was not read to its end."""

    portions: set[int]
    digest: int = 0
    latest: int = -1  # the number of the portion that tells the following
    documents: int = 0
    faults: Faults = dataclasses.field(default_factory=Faults)
    last: int | None = None  # the number of its last portion, once that was measured

    @property
    def is_whole(self) -> bool:
        return self.last is not None and len(self.portions) == self.last + 1


class SoFar:
    """Portions may come in any order, and from any process; each is taken once."""

    def __init__(self, reducers: Sequence[Reducer], bad: Choice) -> None:
        self.reducers = reducers
        self.amount = Amount()
        self.ended: set[int] = set()  # shards that were read to their end
        self._open: dict[int, _Open] = {}
        self._bad: Choice = bad
        self._digest = self._documents = 0  # of the shards at their end
        self._faults: dict[int, Faults] = {}  # of those shards where there are any

    @property
    def documents(self) -> int:
        return self._documents + sum(one.documents for one in self._open.values())

    @property
    def faults(self) -> Faults:
        every = Faults(self._bad)
        known = {**self._faults, **{number: one.faults for number, one in self._open.items()}}
        for _, faults in sorted(known.items()):
            every.add(faults)
        return every

    @property
    def digest(self) -> str:
        """Of all texts read, whatever their order."""
        total = self._digest + sum(one.digest for one in self._open.values())
        return f"{total % 2**128:032x}"

    def left(self, shards: Sequence[Shard]) -> list[tuple[Shard, Taken]]:
        """The shards that were not read to their end, with what was taken of each."""
        return [(one, self._taken(one.number)) for one in shards if one.number not in self.ended]

    def _taken(self, shard: int) -> Taken:
        one = self._open.get(shard)
        return Taken() if one is None else Taken(frozenset(one.portions), one.digest)

    def take(self, measured: Measured) -> None:
        """Take in some portions."""
        self.merge(measured.reducers)
        self.amount = self.amount + measured.amount
        for portion in measured.portions:
            self._count(portion)

    def merge(self, reducers: Sequence[Reducer]) -> None:
        for mine, theirs in zip(self.reducers, reducers, strict=True):
            mine.merge(theirs)

    def _count(self, portion: Portion) -> None:
        one = self._open.setdefault(portion.shard, _Open(set()))
        one.portions.add(portion.number)
        one.digest += portion.digest
        if portion.number > one.latest:
            one.latest = portion.number
            one.documents, one.faults = portion.documents, portion.faults
        if portion.is_last:
            one.last = portion.number
        if one.is_whole:
            del self._open[portion.shard]
            self.ended.add(portion.shard)
            self._digest += one.digest
            self._documents += one.documents
            if one.faults:
                self._faults[portion.shard] = one.faults

    def state(self) -> State:
        shards = {
            number: [sorted(one.portions), str(one.digest), one.latest, one.documents,
                     one.faults.described(), one.last]
            for number, one in self._open.items()
        }  # fmt: skip
        position: dict[str, Any] = {
            "ended": sorted(self.ended),
            "open": shards,
            "digest": str(self._digest),
            "documents": self._documents,
            "faults": {number: faults.described() for number, faults in self._faults.items()},
        }
        arrays = {"amount": np.array(dataclasses.astuple(self.amount), dtype=np.int64)}
        for reducer in self.reducers:
            arrays |= {f"{reducer.name}:{name}": of for name, of in reducer.state().items()}
        return State(position, arrays)

    def restore(self, state: State) -> None:
        at = state.position
        self.ended = set(at["ended"])
        for number, (portions, digest, latest, documents, faults, last) in at["open"].items():
            told = (int(digest), latest, documents, Faults.restored(faults), last)
            self._open[int(number)] = _Open(set(portions), *told)
        self._digest, self._documents = int(at["digest"]), at["documents"]
        self._faults = {int(n): Faults.restored(faults) for n, faults in at["faults"].items()}
        self.amount = Amount(*state.arrays["amount"].tolist())
        for reducer in self.reducers:
            own = f"{reducer.name}:"
            every = state.arrays.items()
            reducer.restore({k.removeprefix(own): of for k, of in every if k.startswith(own)})
