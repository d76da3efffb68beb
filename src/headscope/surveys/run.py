"""`survey`: measure every head over a corpus, in one streaming pass that can be stopped.

The path of a pass: options → corpus (portions) → feed → measure (the loop) → reducers → so far (the
checkpoint) → table.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from headscope._version import __version__
from headscope.arguments import need_count, need_scope
from headscope.corpus.bad_data import Choice
from headscope.corpus.identity import corpus_identity
from headscope.corpus.text.batches import Encoder
from headscope.corpus.text.documents import Layout
from headscope.corpus.text.segments import Segmentation, nothing_to_read
from headscope.errors import BadInput, PaddingShows, Stopped
from headscope.files import check_table
from headscope.models.loading_report import check_weights
from headscope.reading import Scope
from headscope.reading.checks import padding_shows, padding_warning
from headscope.runs import ProgressCallback, Run, scope_identity
from headscope.statistics.discovery import Wanted, measurable
from headscope.statistics.kernels.verified import SURVEYED
from headscope.statistics.statistic import Source, Statistic
from headscope.surveys.corpus import ON_CPU, ON_GPU, Corpus, media_files
from headscope.surveys.feeds import feed_for
from headscope.surveys.loop import Measurer, SoFar
from headscope.surveys.options import Options
from headscope.surveys.reducer import Reducer
from headscope.surveys.reducers import Distances, Statistics
from headscope.surveys.table import Survey, survey_of


def survey(
    scope: Scope,
    corpus: Any,
    statistics: str | Sequence[Wanted] | None = None,
    *,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
    segments: Segmentation = "windows",
    stride: int | None = None,
    max_tokens: int | None = None,
    distances: bool = False,
    interval: float | None = None,
    token_types: Literal["proper", "zeros"] = "proper",
    seed: int = 0,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    workers: int | None = None,
    field: str = "text",
    layout: Layout = "auto",
    bad_data: Choice = "skip",
    batch_tokens: int | None = None,
    chunk: int | None = None,
) -> Survey:
    """Measure every head of a scope over a corpus.

    Parameters
    ----------
    scope
        The model, as `hs.load` opens it.
    corpus
        A path (text, JSONL, Parquet, CoNLL-U, a folder, "-" for standard input), a data set, or an
        iterable of texts or pairs. For a model that reads pictures or sounds: a folder or a list of
        those.
    statistics
        Names, or "all". By default the standard statistics.
    limit
        How many segments to read at most.
    output
        Write the table to this file (.parquet or .csv). The run keeps a checkpoint beside it, and
        the same call resumes a run that was stopped.
    restart
        Discard the checkpoint.
    progress
        Show a progress bar, or call a function with the progress.
    segments
        "windows" reads a longer document window by window, "documents" its beginning only, "pairs"
        makes sentence pairs of up to 128 tokens, as Clark et al. (2019) did.
    stride
        Tokens from the start of one window to the next. By default windows do not overlap.
    max_tokens
        The most tokens of a segment. By default what the model reads.
    distances
        Also measure distances between all pairs of heads.
    interval
        Level of a bootstrap confidence interval, such as 0.95.
    token_types
        "zeros" ignores which of two sentences a token belongs to.
    seed
        Seed of sentence pairs, masks and intervals.
    engine
        "ray" measures on a Ray cluster.
    address
        Address of the Ray cluster. By default Ray runs on this machine.
    workers
        Number of processes that measure. By default this one only, or all that Ray has.
    field
        The column or key that holds the text.
    layout
        How a text file is split into documents: "auto", "lines", "paragraphs", "file", "wikitext".
    bad_data
        "skip" or "refuse" data that cannot be read.
    batch_tokens
        Tokens read at once, padding included.
    chunk
        Segments between two checkpoints.

    Returns
    -------
    Survey
        A table with a row per head and statistic: mean, standard error, number of segments.

    Raises
    ------
    Stopped
        On Ctrl-C. Its `partial` is the table so far; only a complete run writes `output`.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.survey(hs.load(), "sample", ["entropy"], limit=4, progress=False)
    >>> found.statistics
    ('entropy',)
    """
    need_scope(scope)
    if output is not None:
        check_table(output, "A survey")
    options = Options(
        segments, stride, max_tokens, distances, interval, token_types, seed, engine, address,
        workers, field, layout, bad_data, batch_tokens, chunk,
    )  # fmt: skip
    if (files := media_files(corpus)) is not None:
        if (unused := options.changed()) is not None:
            raise BadInput(f"Pictures and sounds are read whole, without {unused}=.")
        from headscope.surveys.media import survey_media

        return survey_media(
            scope, files, statistics,
            limit=limit, output=output, restart=restart, progress=progress,
        )  # fmt: skip
    need_text(scope, limit)
    measured, missing = measurable(scope, statistics)

    def made(reducers: Sequence[Reducer], about: dict[str, Any]) -> Survey:
        return survey_of(reducers, {**about, "not measured": missing, "interval": interval})

    return over_corpus(
        scope, corpus, survey_reducers(measured, options), made, options,
        limit=limit, output=output, restart=restart, progress=progress,
    )  # fmt: skip


def survey_reducers(
    statistics: Sequence[Statistic], options: Options, share: float = 1.0
) -> list[Reducer]:
    """The reducers: statistics by source, and distances between heads over some queries."""
    sources: dict[Source, None] = dict.fromkeys(one.source for one in statistics)
    found: list[Reducer] = [
        Statistics(statistics, source, interval=options.interval, seed=options.seed)
        for source in sources
    ]
    return [*found, Distances(share, options.seed)] if options.distances else found


class Saved(Protocol):
    """A result that a run can write."""

    def save(self, path: str | Path) -> None: ...


Made = TypeVar("Made", bound=Saved)


def over_corpus(
    scope: Scope,
    corpus: Any,
    reducers: Sequence[Reducer],
    make: Callable[[Sequence[Reducer], dict[str, Any]], Made],
    options: Options,
    *,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
    title: str = "Surveying",
) -> Made:
    """One pass over a corpus as a run; `make` turns its reducers into the result.

    `make` takes the reducers and a description of the run; if the run is stopped, it is called for
    the partial result.
    """
    need_text(scope, limit)
    check_weights(scope.model, scope.name)
    longest = options.longest(scope)
    if padding_shows(scope, longest):
        warnings.warn(padding_warning(scope), PaddingShows, stacklevel=3)
    encoder = Encoder.of(scope, options.tokens_of_a_batch(scope), longest, options.token_types)
    size = ON_GPU if scope.device.type == "cuda" else ON_CPU
    source = Corpus.of(corpus, options, encoder, size, limit)
    # without an output there is no checkpoint, and large models need no fingerprint
    identity = {} if output is None else _identity(scope, source, reducers)
    with contextlib.ExitStack() as held:
        feed = held.enter_context(contextlib.closing(feed_for(scope, source, reducers, options)))
        run = held.enter_context(
            Run(output, identity, title=title, restart=restart, progress=progress)
        )
        part, so_far = run.part("counts"), SoFar(reducers, options.bad_data)

        def found(complete: bool) -> Made:
            result = make(so_far.reducers, {**_about(scope, source, so_far), "complete": complete})
            if complete and run.output is not None:
                result.save(run.output)
            return result

        try:
            if (state := part.recall()) is not None:
                so_far.restore(state)
                if so_far.ended:
                    source.check_read(so_far.digest)
            else:
                so_far.merge(Measurer(scope, reducers, options.seed).repeats())
            total = source.total()
            for measured in feed.measured(so_far):
                with part.step(so_far.state):
                    so_far.take(measured)
                del measured  # or it would stay in memory while the next portion is measured
                done = len(so_far.ended) if total is None else _done(so_far, limit)
                amount = so_far.amount
                run.tell(
                    done, total or len(source.shards), segments=amount.documents,
                    tokens=amount.tokens, note=feed.note,
                )  # fmt: skip
        except KeyboardInterrupt:
            stopped = Stopped()
            is_some = part.is_whole and so_far.amount.documents > 0
            stopped.partial = found(complete=False) if is_some else None
            raise stopped from None
        if not so_far.amount.documents:
            raise BadInput(nothing_to_read(options.segments))
        if so_far.amount.unknown == so_far.amount.words > 0:
            raise BadInput(
                f"Every word of the corpus is unknown to {scope.name}, so its attention is "
                f"meaningless; check the language, the field and the tokenizer."
            )
        return found(complete=True)


def _done(so_far: SoFar, limit: int | None) -> int:
    return so_far.documents if limit is None else so_far.amount.documents


def need_text(scope: Scope, limit: int | None) -> None:
    """Check that the model reads texts, and that the limit is valid."""
    if scope.tokenizer is None:
        raise BadInput(f"{scope.name} has no tokenizer, so it cannot read a corpus of text.")
    first = getattr(scope.model, "main_input_name", "input_ids")
    if first != "input_ids" and not scope.accepts("input_ids"):
        raise BadInput(f"{scope.name} reads pictures or sounds, not a corpus of text.")
    need_count(limit, "limit")
    SURVEYED.of(scope)


def _identity(scope: Scope, source: Corpus, reducers: Sequence[Reducer]) -> dict[str, Any]:
    """Everything that decides the result."""
    encoder = source.cutter.encoder
    return {
        **scope_identity(scope),
        "corpus": corpus_identity(source.given),
        "statistics": {one.name: one.described() for one in reducers},
        "settings": {
            **source.described(),
            "longest": encoder.longest,
            "token_types": encoder.token_types,
            "seed": source.cutter.options.seed,
            "bad_data": source.cutter.options.bad_data,
            "limit": source.cutter.limit,
            "chunk": source.cutter.size,
        },
    }


def _about(scope: Scope, source: Corpus, so_far: SoFar) -> dict[str, Any]:
    """A table's description of how it was made."""
    amount, encoder = so_far.amount, source.cutter.encoder
    return {
        "model": scope.name,
        "version": __version__,
        "command": " ".join(sys.argv),
        "corpus": {"corpus": source.name, **source.described(), "fingerprint": so_far.digest},
        "segments": amount.documents,
        "tokens": amount.tokens,
        "documents": so_far.documents,
        "truncated": amount.truncated,
        "characters": amount.characters,
        "unread characters": amount.unread_characters,
        "unknown words": amount.unknown / max(amount.words, 1),
        "cut by model": encoder.longest == scope.max_tokens,
        "left out": so_far.faults.summary(),
        "settings": {
            "max_tokens": encoder.longest,
            "token_types": encoder.token_types,
            "seed": source.cutter.options.seed,
        },
    }
