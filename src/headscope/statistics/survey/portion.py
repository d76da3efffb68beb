"""Measure a portion of a corpus: forward passes in, a tally out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from torch import Tensor

from headscope.capture import Call, Kind, Sink
from headscope.capture.active import known_unpadded
from headscope.capture.call import Answer
from headscope.corpus.text.batches import TextBatch, batches
from headscope.corpus.text.segments import Segment
from headscope.errors import HeadscopeError
from headscope.reading import Scope
from headscope.reading.scope import Run
from headscope.statistics.distances.kept_scores import KeptScores
from headscope.statistics.distances.map_keeper import MapKeeper
from headscope.statistics.features.grid import Grid, grids
from headscope.statistics.features.repeats import repeated_batch
from headscope.statistics.kernels.gradients import gradient_rows
from headscope.statistics.kernels.recorder import Recorder
from headscope.statistics.kernels.verified import rebuildable
from headscope.statistics.places.gather import gather
from headscope.statistics.places.settings import PlaceSettings
from headscope.statistics.statistic import Source, Statistic
from headscope.statistics.survey.batch_values import FiniteCheck, Measured, add_values, features_for
from headscope.statistics.survey.beside import beside
from headscope.statistics.survey.feeding.laid_out import laid_out
from headscope.statistics.survey.feeding.packed import Packed, Read
from headscope.statistics.survey.feeding.texts import texts_of
from headscope.statistics.survey.tally import Tally

Portion = TypeVar("Portion")


@dataclass(frozen=True)
class Settings:
    """What is measured, and how; two runs with equal settings and corpus give equal tables."""

    statistics: tuple[Statistic, ...]
    distances: bool = False
    longest: int | None = None  # tokens a segment is cut to
    most_tokens: int = 2048  # tokens of a batch, padding included
    token_types: str = "proper"
    replicates: int = 0
    seed: int = 0
    places: PlaceSettings | None = None  # where heads do what they do, for an atlas
    fused: bool | None = field(default=None, compare=False)

    def of(self, source: Source) -> list[Statistic]:
        return [statistic for statistic in self.statistics if statistic.source == source]


def measure_chunk(scope: Scope, segments: Sequence[Segment], settings: Settings) -> Tally:
    """All that the segments add to a survey."""
    return measure_batches(scope, text_batches(scope, segments, settings), settings)


def text_batches(
    scope: Scope, segments: Sequence[Segment], settings: Settings
) -> Iterator[TextBatch]:
    return batches(
        scope,
        segments,
        most_tokens=settings.most_tokens,
        longest=settings.longest,
        token_types=settings.token_types,
    )


def measure_batches(scope: Scope, texts: Iterable[TextBatch | Packed], settings: Settings) -> Tally:
    """All that the batches add to a survey."""
    tally, late = new_tally(settings), Late()
    gradients = bool(settings.of("gradient"))
    texts = list(texts) if gradients else texts
    read_batches(scope, texts, settings, tally, late)
    late.add_up()
    for batch in texts if gradients else ():
        assert isinstance(batch, TextBatch)
        _differentiate(scope, batch, settings, tally)
    return tally


def measured_late(
    scope: Scope,
    portions: Iterable[tuple[Portion, Sequence[TextBatch | Packed]]],
    settings: Settings,
) -> Iterator[tuple[Portion, Tally]]:
    """All that each portion adds to a survey, without gradients.

    A portion is given when the next one has been read: a GPU is never without work while this
    process adds up a portion's last batch and its caller takes the portion in.
    """
    late = Late()
    before: tuple[Portion, Tally] | None = None
    for portion, texts in portions:
        tally = new_tally(settings)
        if not texts:
            late.add_up()
        read_batches(scope, texts, settings, tally, late)
        if before is not None:
            yield before
        before = (portion, tally)
    late.add_up()
    if before is not None:
        yield before


def measure_repeats(scope: Scope, settings: Settings) -> Tally:
    """What repeated random tokens add to a survey; they are no part of its corpus."""
    tally = new_tally(settings)
    chosen = settings.of("repeats")
    if chosen:
        inputs, on = repeated_batch(scope, settings.seed)
        recorder = Recorder(on, features_for(chosen, on), rebuildable(scope), settings.fused)
        scope.forward(inputs, recorder, lazy=True)
        FiniteCheck(*recorder.lost)()
        for kind in recorder.kinds:
            add_values(chosen, recorder.rows(kind), on[kind], tally)
    return tally


def new_tally(settings: Settings) -> Tally:
    return Tally(settings.statistics, settings.replicates, settings.seed, settings.places)


class Late:
    """The batch that was given to the device last, to be added up when the next one has been."""

    def __init__(self) -> None:
        self._waiting: Waiting | None = None
        self._then: list[Callable[[], None]] = []

    def put(self, waiting: Waiting) -> None:
        self.add_up()
        self._waiting = waiting

    def then(self, work: Callable[[], None]) -> None:
        """Do something when all that was put has been added up."""
        self._then.append(work)

    def add_up(self) -> None:
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            waiting.add_up()
        works, self._then = self._then, []
        for work in works:
            work()


@dataclass(frozen=True)
class Waiting:
    """What a batch adds to a tally, which its device may still be computing."""

    check: FiniteCheck
    measured: list[Measured]
    of_maps: Callable[[], None] | None = None  # what is made of whole maps

    def add_up(self) -> None:
        self.check()
        for measured in self.measured:
            measured.add_up()
        if self.of_maps is not None:
            self.of_maps()


def read_batches(
    scope: Scope,
    texts: Iterable[TextBatch | Packed],
    settings: Settings,
    tally: Tally,
    late: Late,
) -> None:
    """One forward pass per batch.

    A batch is added up when the next one has been given to the device, so that a GPU goes on
    working while this process counts; the last one is left in `late`.
    """
    chosen = settings.of("corpus")
    is_read = bool(chosen) or settings.distances
    # both try the model, which is done before it is read
    can_rebuild, _ = rebuildable(scope), scope.kinds
    share = 1.0 if settings.places is None else settings.places.compared
    relay, room = _Relay(), KeptScores()
    with scope.passes(relay if is_read else None, lazy=True) as run:
        for batch in texts:
            if is_read:
                inputs, on = laid_out(scope, batch)
                wanted = features_for(chosen, on, settings.places)
                recorder = Recorder(on, wanted, can_rebuild, settings.fused)
                needs_maps = settings.distances or settings.places is not None
                keeper = None
                if needs_maps:
                    keeper = MapKeeper(on, recorder, share, settings.seed, room)
                relay.sink = keeper or recorder
                _launch(run, inputs, isinstance(batch, Packed) and batch.full)
                _check_kinds(scope, recorder)
                measured = [
                    Measured(chosen, recorder.rows(k), on[k], tally) for k in recorder.kinds
                ]
                of_maps = None
                if keeper is not None:
                    of_maps = beside(
                        scope.device,
                        partial(_from_maps, scope, batch, recorder, keeper, on, settings, tally),
                    )
                late.put(Waiting(FiniteCheck(*recorder.lost), measured, of_maps))
                if keeper is not None and scope.device.type == "cpu":
                    late.add_up()  # nothing is gained by waiting, and maps take memory
            tally.add_read(batch.read if isinstance(batch, Packed) else Read.of(batch.tokens))
    if settings.places is not None:
        late.then(beside(scope.device, partial(_settle, tally, settings.places)))
    relay.sink = _nobody  # a door may be remembered for long; what a batch left behind is not


def _check_kinds(scope: Scope, recorder: Recorder) -> None:
    """A picture before the text (GIT) or token types (HRM) may decide which way it looks."""
    if not recorder.kinds:
        raise HeadscopeError(
            f"{scope.name} attends to these texts in another way than to what it was tried on "
            f"({' and '.join(scope.kinds)} attention), so they cannot be measured; read single "
            "texts with scope.read."
        )


def _launch(run: Run, inputs: Mapping[str, Tensor], unpadded: bool) -> None:
    """Give a forward pass to the device."""
    with known_unpadded(unpadded):
        run(inputs)


def _settle(tally: Tally, settings: PlaceSettings) -> None:
    """A portion's places are complete."""
    for places in tally.places.values():
        places.settle()
    settings.horizon.learn(tally.places)


def _from_maps(
    scope: Scope,
    batch: TextBatch | Packed,
    recorder: Recorder,
    keeper: MapKeeper,
    on: dict[Kind, Grid],
    settings: Settings,
    tally: Tally,
) -> None:
    """What is made of whole maps: distances between heads, and places."""
    apart = list(keeper.distances()) if settings.distances else []
    if settings.places is not None:
        _gather(scope, batch, recorder, keeper, on, tally)
    for kind, heads, sums, rows in apart:
        tally.add_distances(kind, heads, sums.values.numpy(), rows)


def _gather(
    scope: Scope,
    batch: TextBatch | Packed,
    recorder: Recorder,
    keeper: MapKeeper,
    on: dict[Kind, Grid],
    tally: Tally,
) -> None:
    """Take in the places of a batch."""
    vocabulary = scope.model.get_input_embeddings().num_embeddings
    for kind, kept in keeper.kept.items():
        rows = recorder.rows(kind)
        tally.heads.setdefault(kind, rows.heads)
        places = tally.places_of(kind, vocabulary)
        gather(places, rows, on[kind], kept, *texts_of(batch, kind))


class _Relay:
    """Passes calls on to the sink of the batch that is read, so that one door serves them all."""

    sink: Sink

    def __call__(self, call: Call) -> Answer:
        return self.sink(call)


def _nobody(call: Call) -> None:
    return None


def _differentiate(scope: Scope, batch: TextBatch, settings: Settings, tally: Tally) -> None:
    chosen = settings.of("gradient")
    on = grids(scope, batch)
    for rows in gradient_rows(scope, batch, on, features_for(chosen, on), settings.seed):
        add_values(chosen, rows, rows.grid, tally)
