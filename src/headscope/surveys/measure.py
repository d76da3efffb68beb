"""The one loop: a forward pass under capture per batch, its row features into the reducers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headscope.capture import Call, Kind, Sink
from headscope.capture.active import known_unpadded
from headscope.capture.call import Answer
from headscope.corpus.text.batches import Amount, TextBatch
from headscope.errors import HeadscopeError
from headscope.reading import Scope
from headscope.reading.passes import Run
from headscope.statistics.features.feature import Feature
from headscope.statistics.features.grid import Grid, grids, sides_of
from headscope.statistics.features.rows import Fetched
from headscope.statistics.kernels.recorder import Recorder
from headscope.statistics.kernels.verified import fitted, rebuildable
from headscope.statistics.statistic import Source
from headscope.surveys.corpus import Portion, Prepared
from headscope.surveys.reducer import Batch, Later, Reducer

if TYPE_CHECKING:
    from headscope.statistics.distances.map_keeper import KeptScores


@dataclass(frozen=True)
class Measured:
    """Portions that were read, and reducers that hold them alone."""

    portions: Sequence[Portion]
    amount: Amount
    reducers: Sequence[Reducer]


class Measurer:
    """A model and what is made of its attention; the same in every process."""

    def __init__(self, scope: Scope, reducers: Sequence[Reducer], seed: int) -> None:
        self._scope, self._reducers, self._seed = scope, reducers, seed
        self._relay = _Relay()
        self._room: KeptScores | None = None  # the same for every batch whose maps are compared

    def fresh(self) -> list[Reducer]:
        return [reducer.fresh() for reducer in self._reducers]

    def repeats(self) -> list[Reducer]:
        """Fresh reducers that have seen repeated random tokens, which are no part of a corpus."""
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
        this process; a portion is complete one batch later, then. Elsewhere nothing is left over.
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
        """One forward pass for each batch; what is left to be done for it."""
        chosen = _of("corpus", into)
        if not chosen or not batches:
            return
        rebuildable(self._scope)  # tries the model, which is done before it is read
        with self._scope.passes(self._relay, lazy=True) as run:
            for batch in batches:
                later = self._forward(run, batch, chosen)
                if self._scope.device.type != "cuda":
                    _finish(later)
                    later = []
                yield later
        self._relay.sink = _nobody  # a door may be remembered for long; what a batch left is not

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
        # a picture before the text (GIT) may make it attend in a way that was not tried
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
    """Raises, when it is called, where a batch's attention holds NaN."""
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
    """Passes calls on to the sink of the batch that is read, so that one door serves them all."""

    sink: Sink

    def __call__(self, call: Call) -> Answer:
        return self.sink(call)


def _nobody(call: Call) -> None:
    return None
