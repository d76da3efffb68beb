"""`survey`: measure every head over a corpus, in one streaming pass that can be stopped."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from headscope._version import __version__
from headscope.arguments import need_scope
from headscope.corpus.bad_data import Faults
from headscope.corpus.text.batches import chunks
from headscope.corpus.text.documents import Document, Reader
from headscope.corpus.text.segments import Cut, Segment, segments
from headscope.errors import BadInput, Stopped
from headscope.files import check_table
from headscope.models.finite import check_weights
from headscope.reading import Scope
from headscope.runs import Fingerprint, ProgressCallback, Run, State, scope_identity
from headscope.statistics.discovery import Wanted
from headscope.statistics.places.settings import PlaceSettings
from headscope.statistics.survey.engines import Engine, Local, Portion, Ray
from headscope.statistics.survey.options import Options
from headscope.statistics.survey.portion import Settings, measure_repeats, new_tally
from headscope.statistics.survey.selection import measurable
from headscope.statistics.survey.table import Survey, from_tally
from headscope.statistics.survey.tally import Tally

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
    set, or an iterable of texts or pairs. `statistics` are names, or "all"; the standard ones
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
            "chunk": source.portion,
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
            place: Engine = (
                Ray(scope, settings, chosen.address, chosen.workers)
                if chosen.engine == "ray"
                else Local(scope, settings)
            )
            work.through(place)
        except KeyboardInterrupt:
            stopped = Stopped()
            stopped.partial = found(complete=False) if work.is_whole else None
            raise stopped from None
        return found(complete=True)


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
        "corpus": {"corpus": source.name, **source.described, "fingerprint": work.digest.value},
        "segments": work.tally.documents,
        "tokens": work.tally.tokens,
        "documents": source.documents,
        "truncated": work.tally.truncated,
        "characters": work.tally.characters,
        "unread characters": work.tally.unread_characters,
        "cut by model": settings.longest == scope.max_length,
        "left out": source.faults.summary(),
        "settings": {
            "max_tokens": settings.longest,
            "token_types": settings.token_types,
            "seed": settings.seed,
        },
    }


class _Source:
    """The segments of a corpus, as often as they are asked for."""

    def __init__(
        self, scope: Scope, corpus: Any, options: Options, settings: Settings, limit: int | None
    ) -> None:
        self.scope, self.settings, self.limit = scope, settings, limit
        self._corpus = corpus
        self._cut: Cut = options.segments
        self._stride = options.stride
        self._reader = Reader(options.field, options.layout)
        self.faults = Faults(options.bad)
        self.documents = 0  # that gave something to read
        self.name = str(corpus) if isinstance(corpus, (str, Path)) else type(corpus).__name__
        self.described = {
            "segments": options.segments,
            "stride": options.stride,
            "field": options.field,
            "layout": options.layout,
        }
        self.portion = options.chunk or (1_024 if scope.device.type == "cuda" else 64)

    def segments(self) -> Iterator[Segment]:
        documents = self._counted(self._reader.documents(self._corpus, self.faults))
        every = segments(
            documents, self._cut, self.scope.tokenizer, longest=self.settings.longest,
            seed=self.settings.seed, faults=self.faults, stride=self._stride,
        )  # fmt: skip
        return itertools.islice(every, self.limit)

    def _counted(self, documents: Iterator[Document]) -> Iterator[Document]:
        for number, document in enumerate(documents, 1):
            self.documents = number
            yield document

    def total(self) -> int | None:
        """How many documents there are, where counting them is cheap and does not use them up."""
        if self.limit is not None and not isinstance(self._corpus, (list, tuple)):
            return self.limit
        if isinstance(self._corpus, (list, tuple)):
            return min(len(self._corpus), self.limit or len(self._corpus))
        if isinstance(self._corpus, (str, Path)) and not Path(self._corpus).is_fifo():
            if str(self._corpus) == "-":
                return None
            return sum(1 for _ in self._reader.documents(self._corpus, Faults()))
        size = getattr(self._corpus, "__len__", None)
        return None if size is None else int(size())


class _Pass:
    """One pass over a corpus: what was counted, and how far it came."""

    def __init__(self, run: Run, source: _Source, settings: Settings) -> None:
        self._run, self._source, self._settings = run, source, settings
        self._part = run.part("counts")
        self.tally: Tally = new_tally(settings)
        self.digest = Fingerprint()  # of the segments read so far
        self.segments = 0

    @property
    def is_whole(self) -> bool:
        """Whether what was counted is that of whole portions, and of at least one."""
        return self._part.is_whole and self.segments > 0

    def through(self, engine: Engine) -> None:
        """Take up what an earlier run kept, and measure what is left."""
        stream = self._source.segments()
        resumed = self._go_on(stream)
        total = self._source.total()
        if not resumed:
            self.tally.merge(measure_repeats(self._source.scope, self._settings))
        for portion, part in engine.run(chunks(stream, self._source.portion)):
            with self._part.step(self._state):
                self._take(portion, part)
            done = self.segments if self._source.limit else portion[-1].document + 1
            self._run.tell(done, total, segments=self.segments, tokens=self.tally.tokens)
        if not self.segments:
            raise BadInput("The corpus holds no text that can be read; check the path and field.")

    def _go_on(self, stream: Iterator[Segment]) -> bool:
        state = self._part.recall()
        if state is None:
            return False
        self.tally.restore(state.arrays)
        self.segments = int(state.position["segments"])
        for segment in itertools.islice(stream, self.segments):
            self.digest.add(segment.text, segment.pair)
        if self.digest.value != state.position["fingerprint"]:
            raise BadInput(
                "The corpus is not the one the earlier run read; start anew with --restart "
                "(restart=True), or choose another output."
            )
        return True

    def _take(self, portion: Portion, part: Tally) -> None:
        self.tally.merge(part)
        for segment in portion:
            self.digest.add(segment.text, segment.pair)
        self.segments += len(portion)

    def _state(self) -> State:
        position = {"segments": self.segments, "fingerprint": self.digest.value}
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
