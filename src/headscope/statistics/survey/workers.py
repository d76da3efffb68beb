"""Processes that measure for a survey: each has the model and reads shards by itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from headscope.corpus.bad_data import Faults
from headscope.corpus.text.shards import Shard
from headscope.reading import Scope
from headscope.statistics.survey.cutting import Cutter, Done, Portion, ReadShard, digest_of
from headscope.statistics.survey.in_order import Pool, Rules, in_order
from headscope.statistics.survey.portion import Settings, measure_chunk, new_tally
from headscope.statistics.survey.tally import Tally

AHEAD = 2  # portions given to each worker, so that none waits for the next
AT_ONCE = 16  # portions of a shard measured before a worker answers


@dataclass(frozen=True)
class ShardSums:
    """The sums of a shard so far, and what was read of it since the last answer."""

    tally: Tally  # of all its portions up to here, added up one after the other
    digests: list[str]
    segments: int
    documents: int  # read of the shard by then
    faults: Faults | None  # of the whole shard; they come with its end

    @property
    def portions(self) -> int:
        return len(self.digests)

    @property
    def more(self) -> bool:
        return self.faults is None

    def then(self, later: ShardSums) -> ShardSums:
        """This answer and the next as one."""
        return dataclasses.replace(
            later,
            digests=self.digests + later.digests,
            segments=self.segments + later.segments,
        )


@dataclass
class _Open:
    """A shard amid which a worker stands."""

    shard: Shard
    place: int  # of the portion that comes next
    tally: Tally
    read: ReadShard
    portions: Iterator[Portion]
    following: Portion | None = None


class Worker:
    """Lives in a process of its own."""

    def __init__(
        self, scope: Scope, settings: Settings, cutter: Cutter, device: str, cores: int
    ) -> None:
        import torch

        torch.set_num_threads(cores)
        self._scope = scope
        if device != "cpu":
            scope.model.to(torch.device(device))
        self._settings, self._cutter = settings, cutter
        # a processor's weights do not depend on what is looked up together
        self._forgets = settings.places is not None and device != "cpu"
        self._open: _Open | None = None

    def measure(self, portion: Portion) -> Tally:
        """A portion of any place in the corpus."""
        self._begin(None)
        return self._measured(portion)

    def _measured(self, portion: Portion) -> Tally:
        return measure_chunk(self._scope, portion, self._settings)

    def _begin(self, so_far: Tally | None) -> None:
        """Whoever reads this and whatever it read before, the same is known of what came before."""
        if self._forgets:
            assert self._settings.places is not None
            self._settings.places.horizon.forget()
            if so_far is not None:
                self._settings.places.horizon.learn(so_far.places)

    def measure_shard(self, shard: Shard, first: int, so_far: Tally | None) -> ShardSums:
        """Some portions from the `first` on, added to the sums so far.

        A process that was started anew reads the shard again, and measures what is left of it.
        """
        at, self._open = self._at(shard, first, so_far), None
        digests: list[str] = []
        segments = 0
        while at.following is not None and len(digests) < AT_ONCE:
            at.tally.merge(self._measured(at.following))
            digests.append(digest_of(at.following))
            segments += len(at.following)
            at.following = next(at.portions, None)
        at.place += len(digests)
        ended = at.following is None
        if not ended:
            self._open = at
        return ShardSums(
            at.tally, digests, segments, at.read.documents, at.read.faults if ended else None
        )

    def _at(self, shard: Shard, first: int, so_far: Tally | None) -> _Open:
        if self._open is not None and (self._open.shard, self._open.place) == (shard, first):
            return self._open
        read = self._cutter.of_shard(shard, self._scope.tokenizer)
        portions = read.portions()
        for _ in range(first):
            next(portions, None)
        tally = new_tally(self._settings)
        if so_far is not None:
            tally.merge(so_far)
        self._begin(so_far)
        return _Open(shard, first, tally, read, portions, next(portions, None))


class Spread:
    """An engine over a pool of workers; results come in the order of the corpus."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @property
    def workers(self) -> int:
        return self._pool.count

    def run(self, portions: Iterator[Portion]) -> Iterator[Done]:
        """Portions cut here, measured there."""
        given: dict[Any, tuple[int, Portion, int]] = {}  # task: place, portion, worker
        ready: dict[int, Done] = {}
        load = [0] * self._pool.count
        supply = enumerate(portions)
        expected, more = 0, True
        try:
            while more or given or ready:
                # what waits for an earlier portion counts too: memory stays flat
                while more and len(given) + len(ready) < AHEAD * len(load):
                    following = next(supply, None)
                    if following is None:
                        more = False
                        break
                    worker = load.index(min(load))
                    task = self._pool.submit(worker, "measure", following[1])
                    given[task] = (*following, worker)
                    load[worker] += 1
                for task in self._pool.wait(list(given)) if given else []:
                    place, portion, worker = given.pop(task)
                    load[worker] -= 1
                    ready[place] = Done.of(portion, self._pool.result(task))
                while expected in ready:
                    yield ready.pop(expected)
                    expected += 1
        finally:
            self._pool.close()

    def run_shards(
        self,
        shards: list[Shard],
        first: int,
        so_far: Tally | None,
        arrived: Callable[[Shard, ShardSums], None],
    ) -> Iterator[tuple[Shard, ShardSums]]:
        """Shards read and measured there; of the first shard only what comes after `first`.

        `arrived` is told of every answer when it comes; what is yielded is in order.
        """
        begun = {shards[0].number: so_far}

        def known(shard: Shard, last: ShardSums | None) -> tuple[Tally | None]:
            return (begun.get(shard.number) if last is None else last.tally,)

        rules = Rules("measure_shard", known, ShardSums.then, arrived=arrived)
        try:
            yield from in_order(self._pool, shards, first, rules)
        finally:
            self._pool.close()
