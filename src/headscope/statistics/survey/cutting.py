"""From a corpus to portions: what one worker measures at a time, wherever it reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headscope.corpus.bad_data import Choice, Faults
from headscope.corpus.text.batches import chunks
from headscope.corpus.text.documents import Document, Reader
from headscope.corpus.text.segments import Segment, Segmentation, segments
from headscope.corpus.text.shards import Shard
from headscope.runs import Fingerprint

if TYPE_CHECKING:  # text is cut by processes that have no torch
    from headscope.statistics.survey.tally import Tally

Portion = list[Segment]


@dataclass(frozen=True)
class Cutter:
    """How a corpus is read and cut; the same portions come of it in every process."""

    reader: Reader
    bad_data: Choice
    cut: Segmentation
    stride: int | None
    longest: int | None
    seed: int
    size: int  # segments of a portion

    def segments(
        self, documents: Iterable[Document], tokenizer: Any, faults: Faults
    ) -> Iterator[Segment]:
        return segments(
            documents, self.cut, tokenizer, longest=self.longest, seed=self.seed, faults=faults,
            stride=self.stride,
        )  # fmt: skip

    def of_shard(self, shard: Shard, tokenizer: Any) -> ReadShard:
        return ReadShard(self, shard, tokenizer)


class ReadShard:
    """The portions of one shard, and what was found amiss and counted on the way."""

    def __init__(self, cutter: Cutter, shard: Shard, tokenizer: Any) -> None:
        self.faults = Faults(cutter.bad_data)
        self.documents = 0
        self._cutter, self._shard, self._tokenizer = cutter, shard, tokenizer

    def portions(self) -> Iterator[Portion]:
        read = self._cutter.reader.shard(self._shard, self.faults)
        cut = self._cutter.segments(self._counted(read), self._tokenizer, self.faults)
        first = self._shard.first
        numbered = (
            dataclasses.replace(one, number=first + one.number, document=first + one.document)
            for one in cut
        )
        return chunks(numbered, self._cutter.size)

    def _counted(self, documents: Iterator[Document]) -> Iterator[Document]:
        for number, document in enumerate(documents, 1):
            self.documents = number
            yield document


@dataclass(frozen=True)
class Done:
    """A portion that was measured: its sums, and what is needed to go on after it."""

    tally: Tally
    segments: int
    digest: str  # of its texts
    shard: int = 0
    documents: int = 0  # read of the shard by then
    faults: Faults | None = None  # of the whole shard; comes with its last portion

    @staticmethod
    def of(portion: Portion, tally: Tally, **more: Any) -> Done:
        return Done(tally, len(portion), digest_of(portion), **more)


def digest_of(portion: Portion) -> str:
    digest = Fingerprint()
    for segment in portion:
        digest.add(segment.text, segment.pair)
    return digest.value


def chained(before: str, portion: str) -> str:
    """The digest of all portions up to this one: it can be gone on with from its value alone."""
    digest = Fingerprint()
    digest.add(before, portion)
    return digest.value
