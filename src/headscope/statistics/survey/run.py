"""`survey`: measure every head over a corpus, in one streaming pass that can be stopped."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from headscope._version import __version__
from headscope.arguments import need_scope
from headscope.corpus.identity import corpus_identity
from headscope.errors import BadInput, Stopped
from headscope.files import check_table
from headscope.models.loading_report import check_weights
from headscope.reading import Scope
from headscope.runs import ProgressCallback, Run, scope_identity, set_aside
from headscope.statistics.discovery import Wanted
from headscope.statistics.media.survey import media_files, survey_media
from headscope.statistics.places.settings import PlaceSettings
from headscope.statistics.survey.batch_tokens import batch_tokens
from headscope.statistics.survey.engines import Engine, Local, on_processes, on_ray
from headscope.statistics.survey.feeding.fed import Fed, can_feed
from headscope.statistics.survey.one_pass import Pass
from headscope.statistics.survey.options import Options
from headscope.statistics.survey.portion import Settings
from headscope.statistics.survey.selection import measurable
from headscope.statistics.survey.source import Source
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
    set, or an iterable of texts or pairs; a folder or list of pictures or sounds for a model that
    reads those. `statistics` are names, or "all"; the standard ones
    when left out. Documents longer than `max_tokens`, or than the model reads, are read window by
    window; `segments="documents"` reads their beginnings alone, `segments="pairs"` makes sentence
    pairs of up to 128 tokens as Clark et al. did. The other
    options are those of `headscope.statistics.survey.options.Options`. With an `output` the run
    keeps what it has beside it, and goes on from there when it is run again. Ctrl-C raises
    `Stopped`, whose `partial` is the table so far; `output` is written by a complete run alone.
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
    first = getattr(scope.model, "main_input_name", "input_ids")
    if first != "input_ids" and not scope.accepts("input_ids"):
        raise BadInput(f"{scope.name} reads pictures or sounds, not a corpus of text.")
    if limit is not None and limit < 1:
        raise BadInput(f"A limit is at least 1, not {limit}.")
    check_weights(scope.model, scope.name)
    measured, missing = measurable(scope, statistics)
    settings = dataclasses.replace(_settings(scope, chosen, measured), places=places)
    source = Source(scope, corpus, chosen, settings, limit)
    with contextlib.ExitStack() as held:
        fed = _fed(scope, settings, chosen, source)  # processes start while the run is prepared
        if fed is not None:
            held.callback(fed.close)
            held.enter_context(set_aside())  # the thread that drives a GPU has no time to lose
        # what is kept nowhere is gone on with by no other run: large models are not read for it
        identity = {} if output is None else _identity(source)
        run = Run(output, identity, title=title, restart=restart, progress=progress)
        held.enter_context(run)
        work = Pass(run, source, settings)

        def found(complete: bool) -> Made:
            tally = work.tally
            about = _about(scope, source, tally, work.digest)
            result = make(tally, {**about, "not measured": missing, "complete": complete})
            if complete and run.output is not None:
                result.save(run.output)
            return result

        try:
            work.through(fed or _engine(scope, settings, chosen, source))
        except KeyboardInterrupt:
            stopped = Stopped()
            stopped.partial = found(complete=False) if work.is_whole else None
            raise stopped from None
        return found(complete=True)


def _identity(source: Source) -> dict[str, Any]:
    """What decides the result."""
    settings = source.settings
    places = settings.places
    named = {f.name: getattr(settings, f.name) for f in dataclasses.fields(settings) if f.compare}
    return {
        **scope_identity(source.scope),
        "corpus": corpus_identity(source.corpus),
        "statistics": [statistic.name for statistic in settings.statistics],
        "settings": {
            **{name: value for name, value in named.items() if name != "statistics"},
            "places": None if places is None else places.described,
            **source.described,
            "chunk": source.cutter.size,
        },
    }


def _fed(scope: Scope, settings: Settings, options: Options, source: Source) -> Fed | None:
    """One GPU with processes beside it that prepare text, where that is what is wanted."""
    if options.engine == "ray" or (options.workers or 1) > 1 or scope.device.type != "cuda":
        return None
    if source.shards is None or not can_feed(scope, settings):
        return None
    return Fed(scope, settings, source.cutter, len(source.shards))


def _engine(scope: Scope, settings: Settings, options: Options, source: Source) -> Engine:
    if options.engine == "ray":
        return on_ray(scope, settings, source.cutter, options.address, options.workers)
    if options.workers is not None and options.workers > 1:
        return on_processes(scope, settings, source.cutter, options.workers)
    return Local(scope, settings)


def _settings(scope: Scope, options: Options, measured: Sequence[Any]) -> Settings:
    longest = options.longest(scope)
    return Settings(
        statistics=tuple(measured),
        distances=options.distances,
        longest=longest,
        most_tokens=options.batch_tokens or batch_tokens(scope, longest),
        token_types=options.token_types,
        replicates=REPLICATES if options.interval is not None else 0,
        seed=options.seed,
    )


def _about(scope: Scope, source: Source, tally: Tally, digest: str) -> dict[str, Any]:
    """What a table says of how it was made."""
    settings = source.settings
    return {
        "model": scope.name,
        "version": __version__,
        "command": " ".join(sys.argv),
        "corpus": {"corpus": source.name, **source.described, "fingerprint": digest},
        "segments": tally.documents,
        "tokens": tally.tokens,
        "documents": source.documents,
        "truncated": tally.truncated,
        "characters": tally.characters,
        "unread characters": tally.unread_characters,
        "cut by model": settings.longest == scope.max_tokens,
        "left out": source.faults.summary(),
        "settings": {
            "max_tokens": settings.longest,
            "token_types": settings.token_types,
            "seed": settings.seed,
        },
    }


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
