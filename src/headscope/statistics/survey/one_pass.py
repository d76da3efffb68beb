"""One pass over a corpus: what was counted, and how far it came.

Portions are added up in their order to the sums of their shard, and shards in their order to the
whole. Whoever measures, however many they are, the tree of sums is the same, and so is every bit.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from headscope.corpus.bad_data import Faults
from headscope.corpus.text.shards import Shard
from headscope.errors import BadInput
from headscope.runs import Run, State, give_back
from headscope.statistics.survey.cutting import Done, Portion, chained, digest_of
from headscope.statistics.survey.engines import Engine
from headscope.statistics.survey.feeding.fed import Fed
from headscope.statistics.survey.portion import Settings, measure_repeats, new_tally
from headscope.statistics.survey.source import Source
from headscope.statistics.survey.tally import Tally
from headscope.statistics.survey.workers import ShardSums, Spread

BEFORE = -1  # the number under which the shards of an earlier run are counted
OPEN = "open/"  # before the names of the arrays of the shard that is not at its end


class Pass:
    """Counts what an engine measures, and keeps it as the state of a run."""

    def __init__(self, run: Run, source: Source, settings: Settings) -> None:
        self._run, self._source, self._settings = run, source, settings
        self._part = run.part("counts")
        self._whole: Tally = new_tally(settings)  # of shards that were read to their end
        self._open: Tally = new_tally(settings)  # of the shard that was read last
        self.digest = ""  # of the portions read so far
        self.segments = self.portions = 0
        self._shard, self._of_shard = 0, 0  # portions taken of the shard that was read last
        self._elsewhere: dict[int, Tally] = {}  # sums of later shards, not taken yet
        self._side = ThreadPoolExecutor(1) if adds_beside(source, settings) else None
        self._sum: Future[Tally] | None = None  # of all that was counted, as it is made there

    @property
    def tally(self) -> Tally:
        """All that was counted."""
        return self._added() if self._sum is None else self._sum.result()

    def _added(self) -> Tally:
        counted = new_tally(self._settings)
        counted.merge(self._whole)
        counted.merge(self._open)
        return counted

    @property
    def is_whole(self) -> bool:
        """Whether what was counted is that of whole portions, and of at least one."""
        return self._part.is_whole and self.segments > 0

    def through(self, engine: Engine | Fed) -> None:
        """Take up what an earlier run kept, and measure what is left."""
        state = self._part.recall()
        if state is None:
            self._whole.merge(measure_repeats(self._source.scope, self._settings))
        else:
            self._recall(state)
        shards = self._source.shards or []
        left = [one for one in shards if one.number >= self._shard]
        if isinstance(engine, Fed):
            self._read_before(state)
            self._fed(engine, left, len(shards))
        elif shards and isinstance(engine, Spread):
            self._read_before(state)
            self._over_shards(engine, left, len(shards))
        else:
            self._here(engine, state)
        if not self.segments:
            raise BadInput("The corpus holds no text that can be read; check the path and field.")

    def _recall(self, state: State) -> None:
        arrays = state.arrays
        self._whole.restore({k: v for k, v in arrays.items() if not k.startswith(OPEN)})
        self._open.restore(
            {k.removeprefix(OPEN): v for k, v in arrays.items() if k.startswith(OPEN)}
        )
        if (places := self._settings.places) is not None:
            for tally in (self._whole, self._open):
                places.horizon.learn(tally.places)
        at = state.position
        self.segments, self.portions = int(at["segments"]), int(at["portions"])
        self.digest = str(at["fingerprint"])
        self._shard, self._of_shard = int(at["shard"]), int(at["of_shard"])

    def _read_before(self, state: State | None) -> None:
        """What an earlier run read of shards that are not read again."""
        if state is not None:
            documents, faults = state.position["before"]
            self._source.end(BEFORE, int(documents), Faults.restored(faults))

    def _here(self, engine: Engine, state: State | None) -> None:
        """Portions cut by this process; what an earlier run read is read again and compared."""
        stream = self._source.portions()
        digest = ""
        for _, portion in itertools.islice(stream, self.portions):
            digest = chained(digest, digest_of(portion))
        if state is not None and digest != self.digest:
            raise BadInput(
                "The corpus is not the one the earlier run read; start anew with --restart "
                "(restart=True), or choose another output."
            )
        total = self._source.total()
        shards: list[int] = []  # of the portions under way, in order

        def handed_on() -> Iterator[Portion]:
            for shard, portion in stream:
                shards.append(shard)
                yield portion

        for done in engine.run(handed_on()):
            self._take(dataclasses.replace(done, shard=shards.pop(0)))
            del done  # or its sums would be held while the next portion is measured
            if self._settings.places is not None and self._side is None:
                give_back()
            self._tell(self.segments if self._source.limit else self._source.documents, total)

    def _fed(self, engine: Fed, left: list[Shard], count: int) -> None:
        """Portions read elsewhere and measured here."""
        for done in engine.run_shards(left, self._of_shard):
            self._heard(done.shard, done)
            if done.segments:
                self._take(done)
            note = f"{engine.helping} processes prepare text" if engine.helping else ""
            self._tell(done.shard + (done.faults is not None), count, note)

    def _over_shards(self, engine: Spread, left: list[Shard], count: int) -> None:
        """Shards read by the workers, from the one an earlier run came to."""
        ended = count - len(left)
        note = f"{engine.workers} workers"

        def arrived(shard: Shard, sums: ShardSums) -> None:
            """Sums may come long before their turn; they are progress all the same."""
            nonlocal ended
            ended += not sums.more
            if shard.number != self._shard:
                self._elsewhere[shard.number] = sums.tally
            self._tell(ended, count, note)

        so_far = self._open if self._of_shard else None
        for shard, sums in engine.run_shards(left, self._of_shard, so_far, arrived):
            self._heard(shard.number, sums)
            self._elsewhere.pop(shard.number, None)
            if sums.segments:
                self._take_sums(shard, sums)
            self._tell(ended, count, note)

    def _heard(self, shard: int, of: Done | ShardSums) -> None:
        """What others found when they read."""
        if of.faults is None:
            self._source.amid(of.documents)
        else:
            self._source.end(shard, of.documents, of.faults)

    def _tell(self, read: int, total: int | None, note: str = "") -> None:
        tallies = (self._whole, self._open, *self._elsewhere.values())
        segments = self.segments + sum(one.documents for one in self._elsewhere.values())
        tokens = sum(one.tokens for one in tallies)
        self._run.tell(read, total, segments=segments, tokens=tokens, note=note)

    def _take(self, done: Done) -> None:
        with self._part.step(self._state):
            self._go_on_to(done.shard)
            self._open.merge(done.tally)
            self._count(done.segments, [done.digest])
            if self._side is not None:
                self._sum = self._side.submit(self._added)

    def _take_sums(self, shard: Shard, sums: ShardSums) -> None:
        with self._part.step(self._state):
            self._go_on_to(shard.number)
            self._open = sums.tally
            self._count(sums.segments, sums.digests)

    def _go_on_to(self, shard: int) -> None:
        before, self._sum = self._sum, None
        added = None if before is None else before.result()  # nothing changes while it is made
        if shard == self._shard:
            return
        if added is None:
            self._whole.merge(self._open)
        else:
            self._whole = added
        self._open = new_tally(self._settings)
        self._shard, self._of_shard = shard, 0

    def _count(self, segments: int, digests: list[str]) -> None:
        for digest in digests:
            self.digest = chained(self.digest, digest)
        self.segments += segments
        self.portions += len(digests)
        self._of_shard += len(digests)

    def _state(self) -> State:
        position = {
            "segments": self.segments,
            "portions": self.portions,
            "fingerprint": self.digest,
            "shard": self._shard,
            "of_shard": self._of_shard,
            "before": self._source.before(self._shard),
        }
        of_open = {f"{OPEN}{name}": array for name, array in self._open.arrays().items()}
        return State(position, {**self._whole.arrays(), **of_open})


def adds_beside(source: Source, settings: Settings) -> bool:
    """Whether a thread adds up while a GPU reads on: the places of an atlas are much to merge."""
    return settings.places is not None and source.scope.device.type == "cuda"
