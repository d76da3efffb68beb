"""Text prepared for a GPU by processes beside it: read, cut, tokenised, and packed.

A GPU reads two million tokens a second of a small model, more than one process prepares; and a
thread that prepares text holds up the one that gives the GPU its work.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from headscope.corpus.bad_data import Faults
from headscope.corpus.text.batches import batches
from headscope.corpus.text.shards import Shard
from headscope.errors import BadInput
from headscope.models.embeddings import embedded_tokens
from headscope.reading import Scope
from headscope.runs.work_ahead import ahead
from headscope.statistics.survey.cutting import Cutter, Done, Portion, digest_of
from headscope.statistics.survey.in_order import Rules, in_order
from headscope.statistics.survey.packed import Packed
from headscope.statistics.survey.pools import Processes
from headscope.statistics.survey.portion import Late, Settings, new_tally, read_batches
from headscope.text.tokenise import Batch, tokenise

MOST = 8  # processes, which feed one GPU of today with room to spare
HELD = 8  # portions of a shard that wait for an earlier shard
FEW = 4  # shards for each process, below which starting it does not pay


@dataclass(frozen=True)
class Prepared:
    """A portion of a shard ready to be read by a model; none where the shard holds no text."""

    batches: list[Packed]
    segments: int
    digest: str
    documents: int  # read of the shard by then
    faults: Faults | None  # of the whole shard; they come with its last portion

    @property
    def portions(self) -> int:
        return int(self.segments > 0)

    @property
    def more(self) -> bool:
        return self.faults is None


@dataclass(frozen=True)
class Desk:
    """All that is needed to prepare text, and no model."""

    tokenizer: Any
    cutter: Cutter
    rows: int | None  # tokens the model embeds
    most_tokens: int
    longest: int | None
    token_types: str
    model: None = None
    encoder_decoder: bool = False

    @staticmethod
    def of(scope: Scope, settings: Settings, cutter: Cutter) -> Desk:
        return Desk(
            scope.tokenizer, cutter, embedded_tokens(scope.model), settings.most_tokens,
            settings.longest, settings.token_types,
        )  # fmt: skip

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def encode(
        self,
        texts: Sequence[str],
        pairs: Sequence[str | None] | None = None,
        *,
        truncate: bool = False,
        max_tokens: int | None = None,
    ) -> Batch:
        made = tokenise(self.tokenizer, texts, pairs, truncate=truncate, max_tokens=max_tokens)
        largest = int(made.inputs["input_ids"].max())
        if self.rows is not None and largest >= self.rows:
            raise BadInput(
                f"The tokenizer gives token {largest} but the model embeds only {self.rows:,}; "
                "load the tokenizer that was saved with this model."
            )
        return made

    def prepared(self, shard: Shard, first: int) -> Iterator[Prepared]:
        """The portions of a shard from the `first` on."""
        read = self.cutter.of_shard(shard, self.tokenizer)
        portions = read.portions()
        for _ in range(first):
            next(portions, None)
        following = next(portions, None)
        if following is None:
            yield Prepared([], 0, "", read.documents, read.faults)
        while following is not None:
            portion, packed = following, self._packed(following)
            following = next(portions, None)
            yield Prepared(
                packed, len(portion), digest_of(portion), read.documents,
                read.faults if following is None else None,
            )  # fmt: skip

    def _packed(self, portion: Portion) -> list[Packed]:
        made = batches(
            self, portion, most_tokens=self.most_tokens, longest=self.longest,
            token_types=self.token_types,
        )  # fmt: skip
        return [Packed.of(batch) for batch in made]


class Feeder:
    """Lives in a process of its own."""

    def __init__(self, desk: Desk) -> None:
        torch.set_num_threads(1)
        self._desk = desk
        self._open: tuple[Shard, int, Iterator[Prepared]] | None = None

    def prepare(self, shard: Shard, first: int) -> Prepared:
        """The next portion of a shard; one that was started anew skips those before it."""
        if self._open is not None and self._open[:2] == (shard, first):
            portions = self._open[2]
        else:
            portions = self._desk.prepared(shard, first)
        answer = next(portions)
        self._open = (shard, first + 1, portions) if answer.more else None
        return answer


class Fed:
    """An engine whose text comes from other processes; it measures here, in corpus order."""

    def __init__(
        self, scope: Scope, settings: Settings, cutter: Cutter, count: int | None = None
    ) -> None:
        self._scope, self._settings = scope, settings
        self._desk = Desk.of(scope, settings, cutter)
        self._count = helpers() if count is None else count
        self.helping = 0  # processes that have started

    def run_shards(self, shards: list[Shard], first: int) -> Iterator[Done]:
        """Every portion measured; one is added up when the next was given to the device."""
        late = Late()
        before: Done | None = None
        for shard, prepared in self._prepared(shards, first):
            tally = new_tally(self._settings)
            if not prepared.batches:
                late.add_up()
            read_batches(self._scope, prepared.batches, self._settings, tally, late)
            if before is not None:
                yield before
            before = Done(
                tally, prepared.segments, prepared.digest, shard.number, prepared.documents,
                prepared.faults,
            )  # fmt: skip
        late.add_up()
        if before is not None:
            yield before

    def _prepared(self, shards: list[Shard], first: int) -> Iterator[tuple[Shard, Prepared]]:
        """Text in the order of the corpus; it is prepared here until the processes have started."""
        count = min(self._count, len(shards) // FEW)
        pool = Processes(Feeder, [(self._desk,)] * count) if count else None
        place = 0
        try:
            while place < len(shards) and not (pool and all(one.done() for one in pool.starting)):
                shard = shards[place]
                for prepared in ahead(self._desk.prepared(shard, first)):
                    yield shard, prepared
                place, first = place + 1, 0
            if pool is not None and place < len(shards):
                self.helping = pool.count
                rules = Rules[Prepared]("prepare", lambda shard, last: (), most=HELD)
                yield from in_order(pool, shards[place:], first, rules)
        finally:
            if pool is not None:
                pool.close()


def helpers() -> int:
    """Processes that can prepare text without taking the core that drives the GPU."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(0, min(MOST, (cores or 1) - 2))


def can_feed(scope: Scope, settings: Settings) -> bool:
    """Whether nothing but packed text is needed: no place of an atlas, no backward pass."""
    own = all(type(one).__module__.startswith("headscope.") for one in settings.statistics)
    return (
        own
        and settings.places is None
        and not settings.of("gradient")
        and not scope.encoder_decoder
        and len(scope.kinds) == 1
    )
