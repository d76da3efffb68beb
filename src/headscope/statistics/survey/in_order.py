"""Shards given to workers as they come free; their answers in the order of the corpus."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from headscope.corpus.text.shards import Shard

AHEAD = 2  # shards of each worker that may wait for an earlier one


class Pool(Protocol):
    """Workers that can be given work and waited for."""

    @property
    def count(self) -> int: ...
    def submit(self, worker: int, method: str, *arguments: Any) -> Any:
        """Give work to a worker; what comes back stands for its result."""
        ...

    def wait(self, tasks: list[Any], block: bool = True) -> list[Any]:
        """Those of the tasks that are done; at least one unless it is not to wait."""
        ...

    def result(self, task: Any) -> Any:
        """What it gave, or the sentence it raised."""
        ...

    def close(self) -> None: ...


class Part(Protocol):
    """What a worker answers: something of a shard."""

    @property
    def portions(self) -> int:
        """Of the shard, in this answer."""
        ...

    @property
    def more(self) -> bool:
        """Whether the shard holds more."""
        ...


Answer = TypeVar("Answer", bound=Part)


@dataclass(eq=False)
class _Shard(Generic[Answer]):
    shard: Shard
    first: int = 0  # of its portions, that the next answer begins with
    found: deque[Answer] = field(default_factory=deque[Answer])
    ended: bool = False
    worker: int = -1  # who has it open
    asked: bool = False  # whether the worker is busy with it


@dataclass(frozen=True)
class Rules(Generic[Answer]):
    """How answers that come too early are held: joined into one of fixed size, or a few of them."""

    method: str  # of a worker; it is given the shard, the first portion, and what `known` gives
    known: Callable[[Shard, Answer | None], tuple[Any, ...]]
    join: Callable[[Answer, Answer], Answer] | None = None
    most: int = 1  # answers of a later shard that are held where they cannot be joined
    # done once, when the first work was given; what it makes comes before all answers
    meanwhile: Callable[[], Iterable[tuple[Shard, Answer]]] = tuple
    arrived: Callable[[Shard, Answer], None] = lambda shard, answer: None


def in_order(
    pool: Pool, shards: list[Shard], first: int, rules: Rules[Answer]
) -> Iterator[tuple[Shard, Answer]]:
    """Every answer, shard by shard; of the first shard what comes after its `first` portions."""
    every = [_Shard[Answer](shard) for shard in shards]
    every[0].first = first
    latest: dict[int, Answer] = {}
    waiting = deque(every)
    busy: dict[Any, _Shard[Answer]] = {}
    idle = list(range(pool.count))
    meanwhile = [rules.meanwhile]

    def ask(one: _Shard[Answer]) -> None:
        one.asked = True
        known = rules.known(one.shard, latest.get(one.shard.number))
        busy[pool.submit(one.worker, rules.method, one.shard, one.first, *known)] = one

    def take(task: Any) -> None:
        one = busy.pop(task)
        one.asked = False
        answer: Answer = pool.result(task)
        rules.arrived(one.shard, answer)
        latest[one.shard.number] = answer
        one.first += answer.portions
        one.found.append(answer)
        if rules.join is not None and len(one.found) > 1:
            later, earlier = one.found.pop(), one.found.pop()
            one.found.append(rules.join(earlier, later))
        if not answer.more:
            one.ended = True
            idle.append(one.worker)
        elif rules.join is not None or len(one.found) < rules.most:
            ask(one)

    for place, current in enumerate(every):
        while current.found or not current.ended:
            while (
                idle
                and waiting
                and waiting[0].shard.number < (every[place].shard.number + AHEAD * pool.count)
            ):
                one = waiting.popleft()
                one.worker = idle.pop()
                ask(one)
            if meanwhile:
                yield from meanwhile.pop()()
            if current.found:
                yield current.shard, current.found.popleft()
                if not current.ended and not current.asked:
                    ask(current)
                for task in pool.wait(list(busy), block=False) if busy else []:
                    take(task)
                continue
            for task in pool.wait(list(busy)):
                take(task)
        latest.pop(current.shard.number, None)
