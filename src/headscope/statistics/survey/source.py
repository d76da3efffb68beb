"""The portions of a corpus, as often as they are asked for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headscope.corpus.bad_data import Faults
from headscope.corpus.object_store import is_uri
from headscope.corpus.sample import PARAGRAPHS, or_sample
from headscope.corpus.text.batches import chunks
from headscope.corpus.text.documents import Document, Reader
from headscope.corpus.text.segments import Segment
from headscope.corpus.text.sharding import shards_of
from headscope.reading import Scope
from headscope.runs import fingerprint
from headscope.statistics.survey.cutting import Cutter, Portion
from headscope.statistics.survey.options import Options
from headscope.statistics.survey.portion import Settings


class Source:
    """A corpus with all that decides how it is read."""

    def __init__(
        self, scope: Scope, corpus: Any, options: Options, settings: Settings, limit: int | None
    ) -> None:
        self.scope, self.settings, self.limit = scope, settings, limit
        self.corpus = or_sample(corpus, PARAGRAPHS)
        self.faults = Faults(options.bad_data)
        self.documents = 0  # that gave something to read
        self._ended: dict[int, tuple[int, Faults]] = {}  # shards: their documents and faults
        self._of_ended = 0  # documents
        self.name = str(corpus) if isinstance(corpus, (str, Path)) else type(corpus).__name__
        self.described: dict[str, Any] = {
            "segments": options.segments,
            "stride": options.stride,
            "field": options.field,
            "layout": options.layout,
        }
        self.cutter = Cutter(
            Reader(options.field, options.layout), options.bad_data, options.segments,
            options.stride,
            settings.longest, settings.seed,
            options.chunk or (2_048 if scope.device.type == "cuda" else 64),
        )  # fmt: skip
        # whoever reads them, portions end where shards end: the sums are the same everywhere
        self.shards = None
        if limit is None:
            self.shards = shards_of(self.corpus, self.cutter.reader)
        if self.shards is not None:
            sizes = [(one.name, one.group, one.span, one.size) for one in self.shards]
            self.described["shards"] = fingerprint(sizes)

    def portions(self) -> Iterator[tuple[int, Portion]]:
        """With the number of the shard each belongs to."""
        if self.shards is None:
            documents = self.cutter.reader.documents(self.corpus, self.faults)
            # documents are cut ahead of a limit: those that gave a segment within it are counted
            counted = documents if self.limit else self._counted(documents)
            every = self.cutter.segments(counted, self.scope.tokenizer, self.faults)
            stream = self._within(itertools.islice(every, self.limit)) if self.limit else every
            yield from ((0, portion) for portion in chunks(stream, self.cutter.size))
            return
        for shard in self.shards:
            read = self.cutter.of_shard(shard, self.scope.tokenizer)
            for portion in read.portions():
                self.amid(read.documents)
                yield shard.number, portion
            self.end(shard.number, read.documents, read.faults)

    def amid(self, documents: int) -> None:
        """So many documents have been read of the shard that comes after those at their end."""
        self.documents = self._of_ended + documents

    def end(self, shard: int, documents: int, faults: Faults) -> None:
        """A shard was read to its end."""
        self._ended[shard] = (documents, faults)
        self._of_ended += documents
        self.documents = self._of_ended
        self.faults.add(faults)

    def before(self, shard: int) -> tuple[int, dict[str, Any]]:
        """Documents and faults of the shards before one, as they can be kept."""
        earlier = [found for number, found in self._ended.items() if number < shard]
        faults = Faults(self.faults.choice)
        for _, one in earlier:
            faults.add(one)
        return sum(documents for documents, _ in earlier), faults.described()

    def _counted(self, documents: Iterator[Document]) -> Iterator[Document]:
        for number, document in enumerate(documents, 1):
            self.documents = number
            yield document

    def _within(self, segments: Iterator[Segment]) -> Iterator[Segment]:
        self.documents, last = 0, None
        for segment in segments:
            self.documents += segment.document != last
            last = segment.document
            yield segment

    def total(self) -> int | None:
        """How many documents there are, where counting them is cheap and does not use them up."""
        if self.shards is not None and not isinstance(self.corpus, (list, tuple)):
            return None
        if self.limit is not None and not isinstance(self.corpus, (list, tuple)):
            return self.limit
        if isinstance(self.corpus, (list, tuple)):
            return min(len(self.corpus), self.limit or len(self.corpus))
        if isinstance(self.corpus, (str, Path)) and not Path(self.corpus).is_fifo():
            if str(self.corpus) == "-" or is_uri(self.corpus):
                return None
            return sum(1 for _ in self.cutter.reader.documents(self.corpus, Faults()))
        size = getattr(self.corpus, "__len__", None)
        return None if size is None else int(size())
