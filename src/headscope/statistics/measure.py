"""Measure a portion of a corpus: forward passes in, a tally out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from headscope.capture import Kind
from headscope.corpus.batches import TextBatch, batches
from headscope.corpus.segments import Segment
from headscope.models.tokens import Tokens
from headscope.reading import Scope
from headscope.statistics.gradients import gradient_rows
from headscope.statistics.grid import Grid
from headscope.statistics.grids import grids
from headscope.statistics.map_keeper import MapKeeper
from headscope.statistics.recorder import Recorder
from headscope.statistics.repeats import repeated_batch
from headscope.statistics.statistic import Source, Statistic
from headscope.statistics.take import Measured, features_for, take
from headscope.statistics.tally import Tally
from headscope.statistics.trust import trust


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


def measure_batches(scope: Scope, texts: Iterable[TextBatch], settings: Settings) -> Tally:
    """All that the batches add to a survey.

    A batch is added up when the next one has been given to the device, so that a GPU goes on
    working while this process counts and prepares text.
    """
    tally = new_tally(settings)
    waiting: list[Measured] = []
    for batch in texts:
        on = grids(scope, batch)
        started, keeper = _start(scope, batch, on, settings)
        _add_up(waiting, tally)
        waiting = started
        if keeper is not None:
            _add_up(waiting, tally)
            for kind, heads, sums, rows in keeper.distances():
                tally.add_distances(kind, heads, sums, rows)
        if settings.of("gradient"):
            _add_up(waiting, tally)
            _differentiate(scope, batch, on, settings, tally)
        tally.documents += len(batch.documents)
        tally.tokens += sum(len(tokens) for tokens in batch.tokens)
        tally.truncated += sum(_was_cut(tokens) for tokens in batch.tokens)
    _add_up(waiting, tally)
    return tally


def measure_repeats(scope: Scope, settings: Settings) -> Tally:
    """What repeated random tokens add to a survey; they are no part of its corpus."""
    tally = new_tally(settings)
    chosen = settings.of("repeats")
    if chosen:
        inputs, on = repeated_batch(scope, settings.seed)
        recorder = Recorder(on, features_for(chosen, on), trust(scope), settings.fused)
        scope.forward(inputs, recorder, lazy=True)
        for kind in recorder.kinds:
            take(chosen, recorder.rows(kind), on[kind], tally)
    return tally


def new_tally(settings: Settings) -> Tally:
    return Tally(settings.statistics, settings.replicates, settings.seed)


def _start(
    scope: Scope, batch: TextBatch, on: dict[Kind, Grid], settings: Settings
) -> tuple[list[Measured], MapKeeper | None]:
    """One forward pass: what is measured of it, and its maps where heads are compared."""
    chosen = settings.of("corpus")
    if not chosen and not settings.distances:
        return [], None
    recorder = Recorder(on, features_for(chosen, on), trust(scope), settings.fused)
    keeper = MapKeeper(on, recorder) if settings.distances else None
    scope.forward(batch.inputs, keeper or recorder, lazy=True)
    return [Measured(chosen, recorder.rows(kind), on[kind]) for kind in recorder.kinds], keeper


def _add_up(waiting: list[Measured], tally: Tally) -> None:
    for measured in waiting:
        measured.into(tally)
    waiting.clear()


def _differentiate(
    scope: Scope, batch: TextBatch, on: dict[Kind, Grid], settings: Settings, tally: Tally
) -> None:
    chosen = settings.of("gradient")
    for rows in gradient_rows(scope, batch, on, features_for(chosen, on), settings.seed):
        take(chosen, rows, rows.grid, tally)


def _was_cut(tokens: Tokens) -> bool:
    """Whether the text goes on after the last token that was read."""
    reached = [0] * len(tokens.texts)
    for (_, end), segment, word in zip(tokens.spans, tokens.segments, tokens.words, strict=True):
        if word >= 0:
            reached[segment] = max(reached[segment], int(end))
    return any(end < len(text.rstrip()) for end, text in zip(reached, tokens.texts, strict=True))
