"""Processes that measure for a survey: each has the model and reads shards by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from headscope.corpus.text.shards import Shard
from headscope.reading import Scope
from headscope.statistics.survey.cutting import Cutter, Done, Portion, ReadShard
from headscope.statistics.survey.portion import Settings, measure_chunk
from headscope.statistics.survey.tally import Tally

AHEAD = 2  # portions given to each worker, so that none waits for the next
AT_ONCE = 16  # portions of a shard measured before a worker answers


@dataclass(frozen=True)
class Answer:
    """Some portions of a shard; `more` are left in it."""

    done: list[Done]
    more: bool


class Worker:
    """Lives in a process of its own."""

    def __init__(
        self, scope: Scope, settings: Settings, cutter: Cutter | None, device: str, cores: int
    ) -> None:
        import torch

        torch.set_num_threads(cores)
        self._scope = scope
        if device != "cpu":
            scope.model.to(torch.device(device))
        self._settings, self._cutter = settings, cutter
        self._open: tuple[Shard, int, ReadShard, Iterator[Portion]] | None = None

    def measure(self, portion: Portion) -> Tally:
        return measure_chunk(self._scope, portion, self._settings)

    def measure_shard(self, shard: Shard, first: int) -> Answer:
        """The portions from the `first` on, some at a time; one that was started anew skips."""
        read, portions = self._at(shard, first)
        done: list[Done] = []
        waiting = next(portions, None)
        while waiting is not None and len(done) < AT_ONCE:
            portion, tally = waiting, self.measure(waiting)
            waiting = next(portions, None)
            last = waiting is None
            done.append(
                Done.of(portion, tally, shard=shard.number, documents=read.documents,
                        faults=read.faults if last else None)
            )  # fmt: skip
        if waiting is None:
            self._open = None
            if not done:  # a shard without text still has faults to tell
                done = [Done(Tally(self._settings.statistics), 0, "", shard.number,
                             read.documents, read.faults)]  # fmt: skip
            return Answer(done, more=False)
        rest = _with_first(waiting, portions)
        self._open = (shard, first + len(done), read, rest)
        return Answer(done, more=True)

    def _at(self, shard: Shard, first: int) -> tuple[ReadShard, Iterator[Portion]]:
        if self._open is not None and self._open[:2] == (shard, first):
            return self._open[2:]
        assert self._cutter is not None
        read = self._cutter.of_shard(shard, self._scope.tokenizer)
        portions = read.portions()
        for _ in range(first):
            next(portions, None)
        return read, portions


def _with_first(first: Portion, rest: Iterator[Portion]) -> Iterator[Portion]:
    yield first
    yield from rest


class Pool(Protocol):
    """Workers that can be given work and waited for."""

    @property
    def count(self) -> int: ...
    def submit(self, worker: int, method: str, *arguments: Any) -> Any:
        """Give work to a worker; what comes back stands for its result."""
        ...

    def wait(self, tasks: list[Any]) -> Any:
        """One of the tasks that is done."""
        ...

    def result(self, task: Any) -> Any:
        """What it gave, or the sentence it raised."""
        ...

    def close(self) -> None: ...


class Spread:
    """An engine over a pool of workers; results come in the order of the corpus."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

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
                if given:
                    task = self._pool.wait(list(given))
                    place, portion, worker = given.pop(task)
                    load[worker] -= 1
                    ready[place] = Done.of(portion, self._pool.result(task))
                while expected in ready:
                    yield ready.pop(expected)
                    expected += 1
        finally:
            self._pool.close()

    def run_shards(self, shards: list[Shard], first: int) -> Iterator[Done]:
        """Shards read and measured there; of the first shard only what comes after `first`."""
        waiting = list(reversed(shards))
        started = {shard.number: (first if shard is shards[0] else 0) for shard in shards}
        found: dict[int, list[Any]] = {shard.number: [] for shard in shards}  # answers in order
        ended: set[int] = set()
        busy: dict[Any, tuple[int, Shard]] = {}  # task: worker, shard
        idle = list(range(self._pool.count))
        place = 0
        try:
            while place < len(shards):
                # no further ahead than twice the workers: what waits to be merged stays bounded
                most = shards[place].number + 2 * self._pool.count
                while idle and waiting and waiting[-1].number < most:
                    shard, worker = waiting.pop(), idle.pop()
                    busy[self._ask(worker, shard, started)] = (worker, shard)
                task = self._pool.wait(list(busy))
                worker, shard = busy.pop(task)
                answer: Answer = self._pool.result(task)
                found[shard.number].append(answer)
                started[shard.number] += len(answer.done)
                if answer.more:
                    busy[self._ask(worker, shard, started)] = (worker, shard)
                else:
                    ended.add(shard.number)
                    idle.append(worker)
                while place < len(shards):
                    number = shards[place].number
                    for one in found[number]:
                        yield from one.done
                    found[number] = []
                    if number not in ended:
                        break
                    place += 1
        finally:
            self._pool.close()

    def _ask(self, worker: int, shard: Shard, started: dict[int, int]) -> Any:
        return self._pool.submit(worker, "measure_shard", shard, started[shard.number])
