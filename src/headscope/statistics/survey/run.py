"""`survey`: measure every head over a corpus, in one streaming pass that can be stopped."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from headscope._version import __version__
from headscope.arguments import need_scope
from headscope.corpus.bad_data import Faults
from headscope.corpus.sample import PARAGRAPHS, or_sample
from headscope.corpus.text.batches import chunks
from headscope.corpus.text.documents import ENDINGS, Document, Reader
from headscope.corpus.text.shards import Shard, shards_of
from headscope.errors import BadInput, Stopped
from headscope.files import check_table
from headscope.models.finite import check_weights
from headscope.reading import Scope
from headscope.runs import ProgressCallback, Run, State, fingerprint, scope_identity
from headscope.statistics.discovery import Wanted
from headscope.statistics.media.survey import media_files, survey_media
from headscope.statistics.places.settings import PlaceSettings
from headscope.statistics.survey.cutting import Cutter, Done, Portion, chained, digest_of
from headscope.statistics.survey.engines import Engine, Local, on_processes, on_ray
from headscope.statistics.survey.options import Options
from headscope.statistics.survey.portion import Settings, measure_repeats, new_tally
from headscope.statistics.survey.selection import measurable
from headscope.statistics.survey.table import Survey, from_tally
from headscope.statistics.survey.tally import Tally
from headscope.statistics.survey.workers import Spread

REPLICATES = 1000  # of a bootstrap interval


def survey(
    scope: Scope,
    corpus: Any,
    statistics: str | Sequence[Wanted] | None = None,
    *,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
    **options: Any,
) -> Survey:
    """Measure every head of a scope over a corpus.

    `corpus` is a path (text, JSONL, Parquet, CoNLL-U, a folder, "-" for standard input), a data
    set, or an iterable of texts or pairs; a folder or list of pictures or sounds for a model that
    reads those. `statistics` are names, or "all"; the standard ones
    when left out. Documents longer than `max_tokens`, or than the model reads, are read window by
    window; `segments="documents"` reads their beginnings alone, `segments="pairs"` makes sentence
    pairs of up to 128 tokens as Clark et al. did. The other
    options are those of `headscope.statistics.survey.options.Options`. With an `output` the run
    keeps what it has beside it, and goes on from there when it is run again. Ctrl-C raises
    `Stopped`; the table so far is written (marked as incomplete) and is its `partial`.
    """
    need_scope(scope)
    if output is not None:
        check_table(output, "A survey")
    if (files := media_files(corpus)) is not None:
        if options:
            raise BadInput(f"Pictures and sounds are read whole, without {next(iter(options))}=.")
        return survey_media(
            scope, files, statistics,
            limit=limit, output=output, restart=restart, progress=progress,
        )  # fmt: skip
    chosen = Options.named(options)

    def made(tally: Tally, about: dict[str, Any]) -> Survey:
        return from_tally(tally, {**about, "interval": chosen.interval}, chosen.interval)

    return over_corpus(
        scope, corpus, statistics, made, chosen,
        limit=limit, output=output, restart=restart, progress=progress,
    )  # fmt: skip


class Saved(Protocol):
    """A result that a run can write."""

    def save(self, path: str | Path) -> None: ...


Made = TypeVar("Made", bound=Saved)


def over_corpus(
    scope: Scope,
    corpus: Any,
    statistics: str | Sequence[Wanted] | None,
    make: Callable[[Tally, dict[str, Any]], Made],
    chosen: Options,
    *,
    places: PlaceSettings | None = None,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
    title: str = "Surveying",
) -> Made:
    """One pass over a corpus as a run; `make` turns what was counted into the result.

    It is given the tally and a description of the run, and called once more for what there is
    when the run is stopped.
    """
    if scope.tokenizer is None:
        raise BadInput(f"{scope.name} has no tokenizer, so it cannot read a corpus of text.")
    if limit is not None and limit < 1:
        raise BadInput(f"A limit is at least 1, not {limit}.")
    check_weights(scope.model, scope.name)
    measured, missing = measurable(scope, statistics)
    settings = dataclasses.replace(_settings(scope, chosen, measured), places=places)
    source = _Source(scope, corpus, chosen, settings, limit)
    identity = {
        **scope_identity(scope),
        "statistics": [statistic.name for statistic in measured],
        "settings": {
            **{f.name: getattr(settings, f.name) for f in dataclasses.fields(settings)
               if f.compare and f.name not in ("statistics", "places")},
            "places": None if places is None else places.described,
            **source.described,
            "chunk": source.cutter.size,
        },
    }  # fmt: skip
    run = Run(output, identity, title=title, restart=restart, progress=progress)
    with run:
        work = _Pass(run, source, settings)

        def found(complete: bool) -> Made:
            about = {**_about(scope, source, work), "not measured": missing, "complete": complete}
            result = make(work.tally, about)
            if run.output is not None:
                result.save(run.output)
            return result

        try:
            work.through(_engine(scope, settings, chosen, source))
        except KeyboardInterrupt:
            stopped = Stopped()
            stopped.partial = found(complete=False) if work.is_whole else None
            raise stopped from None
        return found(complete=True)


def _engine(scope: Scope, settings: Settings, options: Options, source: _Source) -> Engine:
    if options.engine == "ray":
        return on_ray(scope, settings, source.cutter, options.address, options.workers)
    if options.workers is not None and options.workers > 1:
        return on_processes(scope, settings, source.cutter, options.workers)
    return Local(scope, settings)


def _settings(scope: Scope, options: Options, measured: Sequence[Any]) -> Settings:
    on_gpu = scope.device.type == "cuda"
    return Settings(
        statistics=tuple(measured),
        distances=options.distances,
        longest=options.longest(scope),
        most_tokens=options.batch_tokens or (32_768 if on_gpu else 2_048),
        token_types=options.token_types,
        replicates=REPLICATES if options.interval is not None else 0,
        seed=options.seed,
    )


def _about(scope: Scope, source: _Source, work: _Pass) -> dict[str, Any]:
    """What a table says of how it was made."""
    settings = source.settings
    return {
        "model": scope.name,
        "version": __version__,
        "command": " ".join(sys.argv),
        "corpus": {"corpus": source.name, **source.described, "fingerprint": work.digest},
        "segments": work.tally.documents,
        "tokens": work.tally.tokens,
        "documents": source.documents,
        "truncated": work.tally.truncated,
        "characters": work.tally.characters,
        "unread characters": work.tally.unread_characters,
        "cut by model": settings.longest == scope.max_tokens,
        "left out": source.faults.summary(),
        "settings": {
            "max_tokens": settings.longest,
            "token_types": settings.token_types,
            "seed": settings.seed,
        },
    }


class _Source:
    """The portions of a corpus, as often as they are asked for."""

    def __init__(
        self, scope: Scope, corpus: Any, options: Options, settings: Settings, limit: int | None
    ) -> None:
        self.scope, self.settings, self.limit = scope, settings, limit
        self._corpus = or_sample(corpus, PARAGRAPHS)
        self.faults = Faults(options.bad)
        self.documents = 0  # that gave something to read
        self.name = str(corpus) if isinstance(corpus, (str, Path)) else type(corpus).__name__
        self.described: dict[str, Any] = {
            "segments": options.segments,
            "stride": options.stride,
            "field": options.field,
            "layout": options.layout,
        }
        self.cutter = Cutter(
            Reader(options.field, options.layout), options.bad, options.segments, options.stride,
            settings.longest, settings.seed,
            options.chunk or (1_024 if scope.device.type == "cuda" else 64),
        )  # fmt: skip
        # whoever reads them, portions end where shards end: the sums are the same everywhere
        self.shards = None if limit is not None else shards_of(self._corpus, ENDINGS)
        if self.shards is not None:
            sizes = [(one.name, one.group, Path(one.path).stat().st_size) for one in self.shards]
            self.described["shards"] = fingerprint(sizes)

    def portions(self) -> Iterator[tuple[int, Portion]]:
        """With the number of the shard each belongs to."""
        if self.shards is None:
            documents = self._counted(self.cutter.reader.documents(self._corpus, self.faults))
            every = self.cutter.segments(documents, self.scope.tokenizer, self.faults)
            stream = itertools.islice(every, self.limit)
            yield from ((0, portion) for portion in chunks(stream, self.cutter.size))
            return
        before = 0
        for shard in self.shards:
            read = self.cutter.of_shard(shard, self.scope.tokenizer)
            for portion in read.portions():
                self.documents = before + read.documents
                yield shard.number, portion
            before += read.documents
            self.documents = before
            self.faults.add(read.faults)

    def _counted(self, documents: Iterator[Document]) -> Iterator[Document]:
        for number, document in enumerate(documents, 1):
            self.documents = number
            yield document

    def total(self) -> int | None:
        """How many documents there are, where counting them is cheap and does not use them up."""
        if self.shards is not None:
            return None
        if self.limit is not None and not isinstance(self._corpus, (list, tuple)):
            return self.limit
        if isinstance(self._corpus, (list, tuple)):
            return min(len(self._corpus), self.limit or len(self._corpus))
        if isinstance(self._corpus, (str, Path)) and not Path(self._corpus).is_fifo():
            if str(self._corpus) == "-":
                return None
            return sum(1 for _ in self.cutter.reader.documents(self._corpus, Faults()))
        size = getattr(self._corpus, "__len__", None)
        return None if size is None else int(size())


class _Pass:
    """One pass over a corpus: what was counted, and how far it came."""

    def __init__(self, run: Run, source: _Source, settings: Settings) -> None:
        self._run, self._source, self._settings = run, source, settings
        self._part = run.part("counts")
        self.tally: Tally = new_tally(settings)
        self.digest = ""  # of the portions read so far
        self.segments = self.portions = 0
        self._shard, self._of_shard = 0, 0  # portions taken of the shard that was read last
        self._documents: Counter[int] = Counter()  # by shard, where others read them

    @property
    def is_whole(self) -> bool:
        """Whether what was counted is that of whole portions, and of at least one."""
        return self._part.is_whole and self.segments > 0

    def through(self, engine: Engine) -> None:
        """Take up what an earlier run kept, and measure what is left."""
        state = self._part.recall()
        if state is None:
            self.tally.merge(measure_repeats(self._source.scope, self._settings))
        else:
            self._recall(state)
        shards = self._source.shards
        if shards is not None and isinstance(engine, Spread):
            self._over_shards(engine, shards)
        else:
            self._here(engine, state)
        if not self.segments:
            raise BadInput("The corpus holds no text that can be read; check the path and field.")

    def _recall(self, state: State) -> None:
        self.tally.restore(state.arrays)
        at = state.position
        self.segments, self.portions = int(at["segments"]), int(at["portions"])
        self.digest = str(at["fingerprint"])
        self._shard, self._of_shard = int(at["shard"]), int(at["of_shard"])

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
            read = self.segments if self._source.limit else self._source.documents
            self._tell(read, total)

    def _over_shards(self, engine: Spread, shards: list[Shard]) -> None:
        """Shards read by the workers, from the one an earlier run came to."""
        left = [one for one in shards if one.number >= self._shard]
        for done in engine.run_shards(left, self._of_shard):
            self._documents[done.shard] = done.documents
            self._source.documents = self._documents.total()
            if done.faults is not None:
                self._source.faults.add(done.faults)
            if done.segments:
                self._take(done)
            self._tell(done.shard + (done.faults is not None), len(shards))

    def _tell(self, read: int, total: int | None) -> None:
        self._run.tell(read, total, segments=self.segments, tokens=self.tally.tokens)

    def _take(self, done: Done) -> None:
        with self._part.step(self._state):
            self.tally.merge(done.tally)
            self.digest = chained(self.digest, done.digest)
            self.segments += done.segments
            self.portions += 1
            same = done.shard == self._shard
            self._shard, self._of_shard = done.shard, self._of_shard + 1 if same else 1

    def _state(self) -> State:
        position = {
            "segments": self.segments,
            "portions": self.portions,
            "fingerprint": self.digest,
            "shard": self._shard,
            "of_shard": self._of_shard,
        }
        return State(position, self.tally.arrays())


def _with_options(function: Any) -> inspect.Signature:
    """The signature with every option by name, so that editors and notebooks offer them."""
    plain = inspect.signature(function)
    named = [
        inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default,
                          annotation=f.type)
        for f in dataclasses.fields(Options)
    ]  # fmt: skip
    kept = [p for p in plain.parameters.values() if p.kind != p.VAR_KEYWORD]
    return plain.replace(parameters=[*kept, *named])


survey.__signature__ = _with_options(survey)  # pyright: ignore[reportFunctionMemberAccess]
