"""`survey`: measure every head over a corpus, in one streaming pass that can be stopped."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from headscope._version import __version__
from headscope.corpus.bad_data import Choice, Faults
from headscope.corpus.text.batches import chunks
from headscope.corpus.text.documents import Layout, Reader
from headscope.corpus.text.segments import Cut, Segment, segments
from headscope.errors import BadInput
from headscope.reading import Scope
from headscope.runs import checkpoint as partial
from headscope.runs.lock import only_writer
from headscope.runs.progress import Report, Tell, telling
from headscope.statistics.discovery import Wanted
from headscope.statistics.survey.engines import Engine, Local, Portion, Ray
from headscope.statistics.survey.identity import Fingerprint, identity
from headscope.statistics.survey.portion import Settings, measure_repeats, new_tally
from headscope.statistics.survey.selection import measurable
from headscope.statistics.survey.table import Survey, from_tally
from headscope.statistics.survey.tally import Tally

PAIR_TOKENS = 128  # the length of the paper's sentence pairs
REPLICATES = 1000  # of a bootstrap interval


def survey(
    scope: Scope,
    corpus: Any,
    statistics: str | Sequence[Wanted] | None = None,
    *,
    segments: Cut = "documents",
    max_tokens: int | None = None,
    limit: int | None = None,
    distances: bool = False,
    interval: float | None = None,
    token_types: Literal["proper", "zeros"] = "proper",
    seed: int = 0,
    output: str | Path | None = None,
    restart: bool = False,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    workers: int | None = None,
    field: str = "text",
    layout: Layout = "auto",
    bad: Choice = "skip",
    batch_tokens: int | None = None,
    chunk: int | None = None,
    progress: bool | Tell = True,
) -> Survey:
    """Measure every head of a scope over a corpus.

    `corpus` is a path (text, JSONL, Parquet, CoNLL-U, a folder, "-" for standard input), a data
    set, or an iterable of texts or pairs. `statistics` are names, or "all"; the standard ones
    when left out. `segments="pairs"` makes sentence pairs of up to 128 tokens as Clark et al. did;
    documents are otherwise read whole, cut to `max_tokens` or to what the model reads. With an
    `output` the run keeps what it has beside it, goes on from there when it is run again, and
    leaves a usable table when it is stopped; without, stopping returns what there is.
    """
    _check(scope, limit, interval, token_types, engine)
    on_gpu = scope.device.type == "cuda"
    chosen, missing = measurable(scope, statistics)
    settings = Settings(
        statistics=tuple(chosen),
        distances=distances,
        longest=_longest(scope, segments, max_tokens),
        most_tokens=batch_tokens or (32_768 if on_gpu else 2_048),
        token_types=token_types,
        replicates=REPLICATES if interval is not None else 0,
        seed=seed,
    )
    reading = {"corpus": _name(corpus), "segments": segments, "field": field, "layout": layout}
    size = chunk or (1_024 if on_gpu else 64)
    source = _Source(scope, corpus, Reader(field, layout), Faults(bad), segments, settings, limit)
    goal = None if output is None else Path(output)
    with contextlib.ExitStack() as stack:
        if goal is not None:
            stack.enter_context(only_writer(goal))
        run = _Run(source, settings, identity(scope, settings, {**reading, "chunk": size}), goal)
        if goal is not None and not restart:
            run.go_on()
        tell = stack.enter_context(telling(progress))
        place: Engine = (
            Ray(scope, settings, address, workers) if engine == "ray" else Local(scope, settings)
        )
        complete = run.through(place, size, tell)
    found = from_tally(
        run.tally,
        {
            "model": scope.name,
            "version": __version__,
            "command": " ".join(sys.argv),
            "corpus": {**reading, "fingerprint": run.progress.fingerprint},
            "segments": run.tally.documents,
            "tokens": run.tally.tokens,
            "truncated": run.tally.truncated,
            "left out": source.faults.summary(),
            "not measured": missing,
            "settings": {"max_tokens": settings.longest, "token_types": token_types, "seed": seed},
            "interval": interval,
            "complete": complete,
        },
        interval,
    )
    if goal is not None:
        found.save(goal)
        if complete:
            partial.forget(goal)
    return found


class _Source:
    """The segments of a corpus, as often as they are asked for."""

    def __init__(
        self,
        scope: Scope,
        corpus: Any,
        reader: Reader,
        faults: Faults,
        cut: Cut,
        settings: Settings,
        limit: int | None,
    ) -> None:
        self._scope, self._corpus, self._reader = scope, corpus, reader
        self._cut: Cut = cut
        self._settings = settings
        self.faults = faults
        self.limit = limit

    def segments(self) -> Iterator[Segment]:
        documents = self._reader.documents(self._corpus, self.faults)
        longest = self._settings.longest or PAIR_TOKENS
        every = segments(
            documents, self._cut, self._scope.tokenizer, longest=longest, seed=self._settings.seed
        )
        return itertools.islice(every, self.limit)

    def total(self) -> int | None:
        """How many documents there are, where counting them is cheap and does not use them up."""
        if self.limit is not None and not isinstance(self._corpus, (list, tuple)):
            return self.limit
        if isinstance(self._corpus, (list, tuple)):
            return min(len(self._corpus), self.limit or len(self._corpus))
        if isinstance(self._corpus, (str, Path)) and str(self._corpus) != "-":
            return sum(1 for _ in self._reader.documents(self._corpus, Faults()))
        size = getattr(self._corpus, "__len__", None)
        return None if size is None else int(size())


class _Run:
    """One pass over a corpus: what was counted, how far it came, where it is kept."""

    def __init__(
        self, source: _Source, settings: Settings, identity: str, goal: Path | None
    ) -> None:
        self._source, self._settings = source, settings
        self._identity, self._goal = identity, goal
        self.tally: Tally = new_tally(settings)
        self.progress = partial.Progress()
        self._resumed = False
        self._whole = False  # whether what was counted is that of whole portions

    def go_on(self) -> None:
        """Take up what an earlier run kept."""
        assert self._goal is not None
        kept = partial.recall(self._goal, self._identity)
        if kept is not None:
            self.progress, arrays = kept
            self.tally.restore(arrays)
            self._resumed = self._whole = True

    def through(self, engine: Engine, size: int, tell: Tell) -> bool:
        """Measure what is left; False when the user stopped it."""
        stream = self._source.segments()
        fingerprint = Fingerprint()
        for segment in itertools.islice(stream, self.progress.segments):
            fingerprint.add(segment)
        if self._resumed:
            partial.check_corpus(self.progress, fingerprint.value)
        total = self._source.total()
        pace = partial.Pace()
        try:
            if not self._resumed:
                self.tally.merge(measure_repeats(self._source_scope(), self._settings))
                self._whole = True
            for portion, part in engine.run(chunks(stream, size)):
                self._take(portion, part, fingerprint)
                done = (
                    portion[-1].document + 1
                    if self._source.limit is None
                    else (self.progress.segments)
                )
                tell(Report(done, total, self.progress.segments, self.tally.tokens))
                if self._goal is not None and pace.due():
                    self._keep()
        except KeyboardInterrupt:
            # stopped amid a portion's sums, the run goes on from what was kept before it
            if self._goal is not None and self._whole:
                self._keep()
            return False
        if not self.progress.segments:
            raise BadInput("The corpus holds no text that can be read; check the path and field.")
        return True

    def _source_scope(self) -> Scope:
        return self._source._scope

    def _take(self, portion: Portion, part: Tally, fingerprint: Fingerprint) -> None:
        self._whole = False
        self.tally.merge(part)
        for segment in portion:
            fingerprint.add(segment)
        self.progress.chunks += 1
        self.progress.segments += len(portion)
        self.progress.fingerprint = fingerprint.value
        self._whole = True

    def _keep(self) -> None:
        assert self._goal is not None
        partial.keep(self._goal, self._identity, self.progress, self.tally.arrays())


def _check(
    scope: Scope, limit: int | None, interval: float | None, token_types: str, engine: str
) -> None:
    if scope.tokenizer is None:
        raise BadInput(f"{scope.name} has no tokenizer, so it cannot read a corpus of text.")
    if limit is not None and limit < 1:
        raise BadInput(f"A limit is at least 1, not {limit}.")
    if interval is not None and not 0 < interval < 1:
        raise BadInput(f"An interval is a share between 0 and 1, such as 0.95, not {interval}.")
    if token_types not in ("proper", "zeros"):
        raise BadInput(f"Token types are 'proper' or 'zeros', not {token_types!r}.")
    if engine not in ("local", "ray"):
        raise BadInput(f"An engine is 'local' or 'ray', not {engine!r}.")


def _longest(scope: Scope, cut: Cut, asked: int | None) -> int | None:
    if asked is not None and asked < 8:
        raise BadInput(f"Segments need room for at least 8 tokens, not {asked}.")
    limits = [n for n in (asked, PAIR_TOKENS if cut == "pairs" and asked is None else None) if n]
    limits += [scope.max_length] if scope.max_length is not None else []
    return min(limits, default=None)


def _name(corpus: Any) -> str:
    return str(corpus) if isinstance(corpus, (str, Path)) else type(corpus).__name__
