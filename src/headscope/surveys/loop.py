"""The loop: one forward pass under capture per batch, whose row features go into the reducers.

`Measurer` is the loop, in any process. `SoFar` holds its results, portion by portion: it is a run's
checkpoint, and records what was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.capture import Call, Kind, Sink
from headscope.capture.active import known_unpadded
from headscope.capture.call import Answer
from headscope.corpus.bad_data import Choice, Faults
from headscope.corpus.text.batches import Amount, TextBatch
from headscope.corpus.text.documents import Shard
from headscope.errors import HeadscopeError
from headscope.reading import Scope
from headscope.reading.passes import Run
from headscope.runs import State
from headscope.statistics.features.feature import Feature
from headscope.statistics.features.grid import Grid, grids, sides_of
from headscope.statistics.features.rows import Fetched
from headscope.statistics.kernels.recorder import Recorder
from headscope.statistics.kernels.verified import fitted, rebuildable
from headscope.statistics.statistic import Source
from headscope.surveys.corpus import Portion, Prepared, Taken
from headscope.surveys.reducer import Batch, Later, Reducer

if TYPE_CHECKING:
    from headscope.statistics.distances.map_keeper import KeptScores


@dataclass(frozen=True)
class Measured:
    """Portions that were read, and reducers of only these."""

    portions: Sequence[Portion]
    amount: Amount
    reducers: Sequence[Reducer]


class Measurer:
    """A model with its reducers; the same in every process."""

    def __init__(self, scope: Scope, reducers: Sequence[Reducer], seed: int) -> None:
        self._scope, self._reducers, self._seed = scope, reducers, seed
        self._relay = _Relay()
        self._room: KeptScores | None = None  # reused by every batch whose maps are compared

    def fresh(self) -> list[Reducer]:
        return [reducer.fresh() for reducer in self._reducers]

    def repeats(self) -> list[Reducer]:
        """New reducers with repeated random tokens, which are no part of a corpus."""
        into = self.fresh()
        chosen = _of("repeats", into)
        if chosen:
            from headscope.statistics.features.repeats import repeated_batch

            inputs, on = repeated_batch(self._scope, self._seed)
            recorder = Recorder(on, features_for(chosen, on), rebuildable(self._scope))
            self._scope.forward(inputs, _on_tokens(recorder, on), lazy=True)
            _check_finite(recorder)()
            for kind in recorder.kinds:
                _add(chosen, Batch(recorder.rows(kind), on[kind], {}, {}))
        return into

    def portions(self, stream: Iterable[Prepared]) -> Iterator[Measured]:
        """Measure portion after portion.

        A GPU gets its next batch before the last one is added up here, so that it never waits for
        this process; a portion is then complete one batch later. On a CPU there is no such delay.
        """
        waiting: list[Later] = []
        done: list[Measured] = []
        for prepared in stream:
            into = self.fresh()
            for batch in self._corpus_batches(prepared.batches, into):
                _finish(waiting)
                waiting = batch
                yield from _emptied(done)
            if not prepared.batches:
                _finish(waiting)
                waiting = []
            for batch in prepared.batches if _of("gradient", into) else ():
                self._differentiate(batch, into)
            amount = sum((batch.amount for batch in prepared.batches), Amount())
            done.append(Measured([prepared.portion], amount, into))
            if not waiting:
                yield from _emptied(done)
        _finish(waiting)
        yield from done

    def _corpus_batches(
        self, batches: Sequence[TextBatch], into: Sequence[Reducer]
    ) -> Iterator[list[Later]]:
        """One forward pass per batch; yields its remaining work."""
        chosen = _of("corpus", into)
        if not chosen or not batches:
            return
        rebuildable(self._scope)  # tests the model before reading with it
        with self._scope.passes(self._relay, lazy=True) as run:
            for batch in batches:
                later = self._forward(run, batch, chosen)
                if self._scope.device.type != "cuda":
                    _finish(later)
                    later = []
                yield later
        self._relay.sink = _nobody  # the door may live long; the batch's data must not

    def _forward(self, run: Run, batch: TextBatch, chosen: Sequence[Reducer]) -> list[Later]:
        scope, on = self._scope, grids(self._scope, batch)
        recorder = Recorder(on, features_for(chosen, on), rebuildable(scope))
        shares = [reducer.maps for reducer in chosen if reducer.maps is not None]
        keeper = None
        if shares:
            from headscope.statistics.distances.map_keeper import KeptScores, MapKeeper

            self._room = self._room or KeptScores()
            keeper = MapKeeper(on, recorder, max(shares), self._seed, self._room)
        sink = keeper or recorder
        self._relay.sink = _on_tokens(sink, on)
        with known_unpadded(batch.is_full and not scope.encoder_decoder):
            run(batch.on(scope.device))
        _check_kinds(scope, recorder)
        later = [_check_finite(recorder)]
        for kind in recorder.kinds:
            maps = None if keeper is None else keeper.of(kind)
            made = Batch(recorder.rows(kind), on[kind], *sides_of(batch, kind), maps)
            later += _begun(chosen, made)
        return later

    def _differentiate(self, batch: TextBatch, into: Sequence[Reducer]) -> None:
        from headscope.statistics.kernels.gradients import gradient_rows

        chosen = _of("gradient", into)
        on = grids(self._scope, batch)
        for rows in gradient_rows(self._scope, batch, on, features_for(chosen, on), self._seed):
            _add(chosen, Batch(rows, rows.grid, *sides_of(batch, rows.grid.kind)))


def features_for(reducers: Sequence[Reducer], on: Mapping[Kind, Grid]) -> dict[Kind, list[Feature]]:
    """The features that the reducers look up, for each kind of attention they measure."""
    wanted: dict[Kind, list[Feature]] = {
        kind: [feature for one in reducers for feature in one.features(kind, grid.causal)]
        for kind, grid in on.items()
    }
    return {kind: features for kind, features in wanted.items() if features}


def _of(source: Source, reducers: Sequence[Reducer]) -> list[Reducer]:
    return [reducer for reducer in reducers if reducer.source == source]


def _begun(reducers: Sequence[Reducer], batch: Batch) -> list[Later]:
    return [later for one in reducers if (later := one.add(batch)) is not None]


def _add(reducers: Sequence[Reducer], batch: Batch) -> None:
    _finish(_begun(reducers, batch))


def _finish(waiting: Sequence[Later]) -> None:
    for later in waiting:
        later()


def _emptied(done: list[Measured]) -> Iterator[Measured]:
    while done:
        yield done.pop(0)


def _on_tokens(sink: Sink, on: Mapping[Kind, Grid]) -> Sink:
    """Shows the calls on the tokens of the text alone."""

    def shown(call: Call) -> Answer:
        # a picture before the text (GIT) may change attention in an untested way
        return sink(fitted(call, on[call.kind]) if call.kind in on else call)

    return shown


def _check_kinds(scope: Scope, recorder: Recorder) -> None:
    """A picture before the text (GIT) or token types (HRM) may decide which way it looks."""
    if not recorder.kinds:
        raise HeadscopeError(
            f"{scope.name} attends to these texts differently than to the trial inputs "
            f"({' and '.join(scope.kinds)} attention), so they cannot be measured; read single "
            "texts with scope.read."
        )


def _check_finite(recorder: Recorder) -> Later:
    """A function that raises an error if a batch's attention contains NaN."""
    layers, flags = recorder.lost
    fetched = Fetched.of(flags)

    def check() -> None:
        for layer, lost in zip(layers, fetched.values.tolist(), strict=True):
            if lost:
                raise HeadscopeError(
                    f"The attention of layer {layer} is NaN: the model overflows or its weights "
                    f"are damaged; load it with dtype='float32', or another checkpoint."
                )

    return check


class _Relay:
    """Passes calls to the current batch's sink, so that one door serves all batches."""

    sink: Sink

    def __call__(self, call: Call) -> Answer:
        return self.sink(call)


def _nobody(call: Call) -> None:
    return None


@dataclass
class _Open:
    """A shard that is not yet read to its end."""

    portions: set[int]
    digest: int = 0
    latest: int = -1  # the number of the portion with the following counts
    documents: int = 0
    faults: Faults = field(default_factory=Faults)
    last: int | None = None  # the number of its last portion, once measured

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
        self._faults: dict[int, Faults] = {}  # of those shards that have any

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
        """The digest of all texts read, in any order."""
        total = self._digest + sum(one.digest for one in self._open.values())
        return f"{total % 2**128:032x}"

    def left(self, shards: Sequence[Shard]) -> list[tuple[Shard, Taken]]:
        """The unfinished shards, with the measured portions of each."""
        return [(one, self._taken(one.number)) for one in shards if one.number not in self.ended]

    def _taken(self, shard: int) -> Taken:
        one = self._open.get(shard)
        return Taken() if one is None else Taken(frozenset(one.portions), one.digest)

    def take(self, measured: Measured) -> None:
        """Add some portions."""
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
        arrays = {"amount": np.array(astuple(self.amount), dtype=np.int64)}
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
