"""Text prepared for a GPU by processes beside it: read, cut, tokenised, and packed.

A GPU reads two million tokens a second of a small model, more than one process prepares; and a
thread that prepares text holds up the one that gives the GPU its work.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from functools import partial

from headscope.corpus.text.segments import Segment
from headscope.corpus.text.shards import Shard
from headscope.reading import Scope
from headscope.runs import uncollected
from headscope.statistics.kernels.verified import rebuildable
from headscope.statistics.survey.cutting import Cutter, Done
from headscope.statistics.survey.feeding.desk import Desk, Prepared
from headscope.statistics.survey.feeding.helpers import Helpers
from headscope.statistics.survey.in_order import Rules, in_order
from headscope.statistics.survey.portion import (
    Late,
    Settings,
    measured_late,
    new_tally,
    read_batches,
)

MOST = 12  # processes; each prepares a sixth of what an H200 reads of BERT-base
HELD = 8  # portions of a shard that wait for an earlier shard
FEW = 4  # shards for each process, below which starting it does not pay
SMALL = 2**22  # bytes of a file
WARM = 512  # tokens at most of the text on which kernels are compiled


class Fed:
    """An engine whose text comes from other processes; it measures here, in corpus order."""

    def __init__(
        self, scope: Scope, settings: Settings, cutter: Cutter, shards: int, most: int | None = None
    ) -> None:
        """`shards` are how many there are; `most` is the number of processes at most."""
        self._scope, self._settings = scope, settings
        self._desk = Desk.of(scope, settings, cutter)
        self.helping = 0  # processes that prepare text
        count = min(helpers() if most is None else most, shards // FEW)
        # they start while the run is prepared and the model is tried
        self._pool = _helpers(self._desk, count) if count else None

    def run_shards(self, shards: list[Shard], first: int) -> Iterator[Done]:
        """Every portion measured; one is added up when the next was given to the device."""
        read = (((shard, one), one.batches) for shard, one in self._prepared(shards, first))
        for (shard, prepared), tally in measured_late(self._scope, read, self._settings):
            yield Done(
                tally, prepared.segments, prepared.digest, shard.number, prepared.documents,
                prepared.faults,
            )  # fmt: skip

    def _prepared(self, shards: list[Shard], first: int) -> Iterator[tuple[Shard, Prepared]]:
        """Text in the order of the corpus."""
        own = shards
        if self._pool is not None:
            self.helping = self._pool.count
            # a GPU is busy with an atlas of a shard for longer than processes take to start
            begins = self._settings.places is not None and _is_small(shards[0])
            own = shards[:1] if begins else []
        others = shards[len(own) :]
        if self._pool is None or not others:
            yield from self._begun(own, first)
            return
        rules = Rules[Prepared](
            "prepare", lambda shard, last: (), most=HELD, meanwhile=partial(self._begun, own, first)
        )
        yield from in_order(self._pool, others, 0 if own else first, rules)

    def _begun(self, shards: list[Shard], first: int) -> Iterator[tuple[Shard, Prepared]]:
        """Some shards prepared here, when the model has been tried."""
        self._begin()
        for shard in shards:
            # no thread prepares ahead: it would hold up the one that drives the GPU
            portions = self._desk.prepared(shard, first)
            while (prepared := _following(portions)) is not None:
                yield shard, prepared
            first = 0

    def _begin(self) -> None:
        """Try the model, and compile the kernels on a text as long as others may be.

        Those of an atlas are compiled for the widths that come; and what it kept of this text
        would stand in the way of others.
        """
        rebuildable(self._scope)
        if self._settings.places is not None:
            return
        words = min(self._settings.longest or WARM, WARM)
        some = self._desk.packed([Segment(0, 0, "the " * words), Segment(1, 1, "the cat")])
        tally, late = new_tally(self._settings), Late()
        read_batches(self._scope, some, self._settings, tally, late)
        late.add_up()

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()


def _following(portions: Iterator[Prepared]) -> Prepared | None:
    with uncollected():
        return next(portions, None)


def _helpers(desk: Desk, count: int) -> Helpers | None:
    """None for a tokenizer that cannot be sent to another process, or where none can be started."""
    try:
        return Helpers(desk, count)
    except (pickle.PicklingError, AttributeError, TypeError, OSError):
        return None


def _is_small(shard: Shard) -> bool:
    """Whether it is quickly prepared."""
    start, end = shard.span or (0, SMALL + 1)
    return shard.items is not None or end - start <= SMALL


def helpers() -> int:
    """Processes that can prepare text without taking the core that drives the GPU."""
    if os.name != "posix":
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(0, min(MOST, (cores or 1) - 2))


def can_feed(scope: Scope, settings: Settings) -> bool:
    """Whether nothing but packed text is needed: no backward pass, no text of a decoder."""
    own = all(type(one).__module__.startswith("headscope.") for one in settings.statistics)
    return (
        own and not settings.of("gradient") and not scope.encoder_decoder and len(scope.kinds) == 1
    )
