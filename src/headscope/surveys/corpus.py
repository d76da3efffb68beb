"""A corpus in portions, each measured, saved and resumed as one, in any process.

A corpus is read shard by shard; one that cannot be divided is a single shard. A portion is
identified by its shard and its number there, so that portions may be measured in any order.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import pickle
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from headscope.corpus.bad_data import Faults
from headscope.corpus.identity import reads_once
from headscope.corpus.open_text import is_uri
from headscope.corpus.sample import PARAGRAPHS, or_sample
from headscope.corpus.text.batches import Encoder, TextBatch, chunks
from headscope.corpus.text.documents import Document, Reader, Shard
from headscope.corpus.text.segments import Segment, segments
from headscope.corpus.text.sharding import shards_of
from headscope.errors import BadInput
from headscope.runs import fingerprint
from headscope.surveys.options import Options

PICTURES = frozenset((".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".ppm"))
SOUNDS = frozenset((".wav", ".flac", ".ogg"))
ON_CPU, ON_GPU = 64, 2_048  # segments of a portion


@dataclass(frozen=True)
class Taken:
    """A shard's measured portions, and the sum of their digests."""

    portions: frozenset[int] = frozenset()
    digest: int = 0


@dataclass(frozen=True)
class Portion:
    """Some neighbouring segments of a shard; the last one of a shard may be empty."""

    shard: int
    number: int  # among the portions of its shard
    segments: list[Segment]
    documents: int  # of the shard, read so far
    faults: Faults  # of the shard, found so far
    is_last: bool

    @cached_property
    def digest(self) -> int:
        """The sum of its segments' digests: sums do not depend on how a corpus is cut or read."""
        return sum(_digest(segment) for segment in self.segments)


@dataclass(frozen=True)
class Prepared:
    """A portion as a model reads it."""

    portion: Portion
    batches: list[TextBatch]

    def without_text(self) -> Prepared:
        """The portion without its texts, quick to send to another process."""
        bare = dataclasses.replace(self.portion, segments=[])
        bare.__dict__["digest"] = self.portion.digest
        return Prepared(bare, [batch.without_text() for batch in self.batches])


def _digest(segment: Segment) -> int:
    told = repr((segment.number, segment.text, segment.pair)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(told, digest_size=12).digest(), "big")


@dataclass(frozen=True)
class Cutter:
    """Reads and cuts a corpus; every process makes the same portions."""

    encoder: Encoder
    options: Options
    limit: int | None
    size: int  # segments of a portion
    whole: Any = field(default=None, repr=False)  # a corpus that is not divided

    def portions(self, shard: Shard, taken: Taken) -> Iterator[Portion]:
        """The portions of a shard that are still to measure.

        Earlier ones are read again; if their text has changed, this raises an error.
        """
        read = _Read(self, shard)
        stream = enumerate(chunks(read.segments(), self.size))
        following, skipped, left = next(stream, None), 0, len(taken.portions)
        if following is None:
            yield Portion(shard.number, 0, [], read.documents, read.faults_so_far, True)
        while following is not None:
            (number, portion), documents, faults = following, read.documents, read.faults_so_far
            following = next(stream, None)
            if following is None:
                documents, faults = read.documents, read.faults_so_far
            made = Portion(shard.number, number, portion, documents, faults, following is None)
            if number not in taken.portions:
                yield made
                continue
            skipped, left = skipped + made.digest, left - 1
            if not left and skipped != taken.digest:
                raise BadInput(ANOTHER)
        if left:
            raise BadInput(ANOTHER)

    def prepared(self, portion: Portion) -> Prepared:
        return Prepared(portion, list(self.encoder.batches(portion.segments)))

    def documents(self, shard: Shard, faults: Faults) -> Iterator[Document]:
        reader = Reader(self.options.field, self.options.layout)
        return (
            reader.documents(self.whole, faults) if shard == WHOLE else reader.shard(shard, faults)
        )


WHOLE = Shard(0, "", "")
ANOTHER = (
    "The corpus differs from the one the earlier run read; start again with --restart "
    "(restart=True), or "
    "choose another output."
)


class _Read:
    """One shard while it is read: its segments and counts."""

    def __init__(self, cutter: Cutter, shard: Shard) -> None:
        self._cutter, self._shard = cutter, shard
        self._faults = Faults(cutter.options.bad_data)
        self.documents = 0

    @property
    def faults_so_far(self) -> Faults:
        return Faults(self._faults.choice, Counter(self._faults.counts), list(self._faults.kept))

    def segments(self) -> Iterator[Segment]:
        cutter, options = self._cutter, self._cutter.options
        cut = segments(
            self._counted(cutter.documents(self._shard, self._faults)), options.segments,
            cutter.encoder.tokenizer, longest=cutter.encoder.longest, seed=options.seed,
            faults=self._faults, stride=options.stride,
        )  # fmt: skip
        first = self._shard.first
        numbered = (
            dataclasses.replace(one, number=first + one.number, document=first + one.document)
            for one in cut
        )
        return numbered if cutter.limit is None else self._limited(numbered, cutter.limit)

    def _counted(self, documents: Iterator[Document]) -> Iterator[Document]:
        for number, document in enumerate(documents, 1):
            self.documents = number
            yield document

    def _limited(self, cut: Iterator[Segment], limit: int) -> Iterator[Segment]:
        """Documents are cut ahead of a limit; only those with a segment within it count."""
        count, last = 0, None
        for segment in itertools.islice(cut, limit):
            count += segment.document != last
            self.documents, last = count, segment.document
            yield segment


class ShardReader:
    """Lives in another process; keeps the shard open that it is asked for again and again."""

    def __init__(self, cutter: Cutter) -> None:
        self._cutter = cutter
        self._open: tuple[Shard, Taken, Iterator[Portion]] | None = None

    def at(self, shard: Shard, taken: Taken) -> Iterator[Portion]:
        at, self._open = self._open, None
        if at is not None and at[:2] == (shard, taken):
            return at[2]
        return self._cutter.portions(shard, taken)

    def then(
        self, shard: Shard, taken: Taken, stream: Iterator[Portion], done: Sequence[Portion]
    ) -> tuple[Shard, Taken] | None:
        """What to ask for next, when these portions are taken too."""
        if done[-1].is_last:
            return None
        digest = taken.digest + sum(portion.digest for portion in done)
        taken = Taken(taken.portions.union(portion.number for portion in done), digest)
        self._open = (shard, taken, stream)
        return shard, taken


class Helper(ShardReader):
    """Cuts and tokenises. Its process imports this module, and so no torch."""

    def __init__(self, packed: bytes) -> None:
        super().__init__(pickle.loads(packed))

    def prepare(self, shard: Shard, taken: Taken) -> tuple[Prepared, tuple[Shard, Taken] | None]:
        stream = self.at(shard, taken)
        portion = next(stream)
        made = self._cutter.prepared(portion).without_text()
        return made, self.then(shard, taken, stream, [portion])


class Corpus:
    """A corpus with its options for reading."""

    def __init__(self, given: Any, cutter: Cutter, shards: list[Shard]) -> None:
        self.given, self.cutter, self.shards = or_sample(given, PARAGRAPHS), cutter, shards
        self.name = str(given) if isinstance(given, (str, Path)) else type(given).__name__

    @staticmethod
    def of(given: Any, options: Options, encoder: Encoder, size: int, limit: int | None) -> Corpus:
        corpus = or_sample(given, PARAGRAPHS)
        reader = Reader(options.field, options.layout)
        shards = None if limit is not None else shards_of(corpus, reader)
        whole = corpus if shards is None else None
        cutter = Cutter(encoder, options, limit, options.chunk or size, whole)
        return Corpus(given, cutter, shards or [WHOLE])

    @property
    def is_divided(self) -> bool:
        """Whether several processes can read it, one shard each."""
        return self.shards != [WHOLE]

    def described(self) -> dict[str, Any]:
        """The options that decide the portions, as JSON."""
        options = self.cutter.options
        said: dict[str, Any] = {
            name: getattr(options, name) for name in ("segments", "stride", "field", "layout")
        }
        if self.is_divided:
            sizes = [(one.name, one.group, one.span, one.size) for one in self.shards]
            said["shards"] = fingerprint(sizes)
        return said

    def check_read(self, digest: str) -> None:
        """Raise an error if the rest of a corpus that can be read only once has changed."""
        if not reads_once(self.given):
            return
        every = (self.cutter.portions(shard, Taken()) for shard in self.shards)
        total = sum(portion.digest for portions in every for portion in portions)
        if f"{total % 2**128:032x}" != digest:
            raise BadInput(ANOTHER)

    def total(self) -> int | None:
        """The number of documents, if counting is cheap and the corpus can be read again."""
        corpus, limit = self.given, self.cutter.limit
        if isinstance(corpus, (list, tuple)):
            return min(len(corpus), limit or len(corpus))  # pyright: ignore[reportUnknownArgumentType]
        if limit is not None:
            return limit
        if isinstance(corpus, (str, Path)) and not Path(corpus).is_fifo():
            if self.is_divided or str(corpus) == "-" or is_uri(corpus):
                return None
            reader = Reader(self.cutter.options.field, self.cutter.options.layout)
            return sum(1 for _ in reader.documents(corpus, Faults()))
        size = getattr(corpus, "__len__", None)
        return None if size is None else int(size())


def media_files(corpus: Any) -> list[Any] | None:
    """The pictures or sounds of a folder or a list; None for any other corpus."""
    if isinstance(corpus, (str, Path)) and Path(corpus).is_dir():
        found = sorted(p for p in Path(corpus).rglob("*") if p.suffix.lower() in PICTURES | SOUNDS)
        return found or None
    if isinstance(corpus, (list, tuple)) and corpus and all(_is_media(one) for one in corpus):
        return list(corpus)
    return None


def _is_media(one: object) -> bool:
    if isinstance(one, (str, Path)):
        return Path(one).suffix.lower() in PICTURES | SOUNDS and Path(one).is_file()
    if isinstance(one, np.ndarray):
        return one.ndim in (2, 3)  # rows × columns, and colours
    from headscope.media.picture import Picture
    from headscope.media.sound import Sound

    return isinstance(one, (Picture, Sound)) or type(one).__module__.startswith("PIL.")
