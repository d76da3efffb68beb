"""Every head over a corpus: its score on every pattern, or its kinds of map."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.arguments import need_scope
from headscope.corpus.bad_data import Faults
from headscope.corpus.identity import corpus_identity, reads_once
from headscope.corpus.text.documents import Reader
from headscope.corpus.text.segments import Segmentation, nothing_to_read, segments
from headscope.errors import BadInput
from headscope.files import check_table, write_table
from headscope.models.loading_report import check_weights
from headscope.patterns import evidence
from headscope.patterns.as_statistics import pattern_measures
from headscope.patterns.leave_two_out import predictive as guess_words
from headscope.patterns.pattern import patterns
from headscope.runs import ProgressCallback, Run, scope_identity
from headscope.statistics.features.repeats import SEQUENCES
from headscope.surveys.loop import Measurer
from headscope.surveys.options import Options
from headscope.surveys.run import need_text, survey, survey_reducers
from headscope.surveys.table import account, survey_of

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope

MAPS = 1000  # documents whose maps are classified, as in the paper
GUESSED_TOKENS = 40
MAP_TOKENS = 128


def pattern_scores(
    scope: Scope,
    corpus: Any,
    *,
    cut: Segmentation | None = None,
    predictive: int = 0,
    max_tokens: int | None = None,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
    **reading: Any,
) -> pd.DataFrame:
    """A row per head and pattern, with the columns of `evidence.COLUMNS`.

    Its `attrs` hold the number of segments read.

    `cut` is "pairs" or "documents" (by default what suits the model); `predictive` is the number of
    texts in which masked words are also predicted; `reading` are a survey's options for reading the
    corpus (field, layout, bad_data, seed). With an `output` the table is written there, and a
    stopped run resumes. Without a corpus only patterns on repeated random tokens are scored.
    """
    import pandas as pd

    if corpus is None:
        if cut or predictive or max_tokens or limit:
            raise BadInput("segments=, predictive=, max_tokens= and limit= need a corpus.")
        return _on_random_tokens(scope, reading.get("seed", 0), output)
    corpus = _rereadable(corpus, reading)
    identity = _identity(
        scope, corpus, output, ["scores", cut, predictive, max_tokens, limit, reading]
    )
    with Run(output, identity, title="Patterns", restart=restart, progress=progress) as run:
        chosen = cut or natural_segmentation(scope)

        def surveyed() -> pd.DataFrame:
            found = survey(
                scope, corpus, pattern_measures(scope), segments=chosen, limit=limit,
                max_tokens=max_tokens, output=run.place("survey.parquet"), progress=run.show,
                **reading,
            )  # fmt: skip
            said = json.dumps(account(found.metadata))
            return found.table.assign(segments=found.metadata["segments"], account=said)

        table = run.table("measured", surveyed)
        if predictive:
            texts = _texts(scope, corpus, chosen, max_tokens or GUESSED_TOKENS, reading)
            guessed = guess_words(scope, texts, predictive, run)
            table = pd.concat([table, guessed], ignore_index=True)
        found = evidence.table(table, patterns())
        read: Any = table["segments"]
        found.attrs["segments"] = int(read.max())
        found.attrs["account"] = json.loads(table["account"].iloc[0])
        if output is not None:
            write_table(found, output)
    return found


def _on_random_tokens(scope: Scope, seed: int, output: str | Path | None) -> pd.DataFrame:
    """The patterns that copy, such as induction: their tokens are drawn, so no corpus is read."""
    need_scope(scope)
    if output is not None:
        check_table(output)
    check_weights(scope.model, scope.name)
    need_text(scope, None)
    measured = [one for one in pattern_measures(scope) if one.source == "repeats"]
    if not measured:
        raise BadInput(
            f"No pattern of {scope.name} is measured on random tokens, which takes a model that "
            "continues text; give a corpus."
        )
    reducers = survey_reducers(measured, Options.named({"seed": seed}))
    found = evidence.table(
        survey_of(Measurer(scope, reducers, seed).repeats(), {}).table, patterns()
    )
    found.attrs["segments"] = SEQUENCES
    found.attrs["account"] = [f"No corpus was read, but {SEQUENCES} texts of random tokens."]
    if output is not None:
        write_table(found, output)
    return found


def map_kind_shares(
    scope: Scope,
    corpus: Any,
    *,
    cut: Segmentation | None = None,
    max_tokens: int | None = None,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
    **reading: Any,
) -> pd.DataFrame:
    """A row per head: the share of texts on which its map is of each of the five kinds."""
    from headscope.patterns.kinds.classify import KindCounts

    most = limit or MAPS
    corpus = _rereadable(corpus, reading)
    identity = _identity(scope, corpus, output, ["kinds", cut, max_tokens, most, reading])
    with Run(output, identity, title="Classifying maps", restart=restart, progress=progress) as run:
        part, counts = run.part("kinds"), KindCounts()
        if (state := part.recall()) is not None:
            counts.restore(state)
        texts = _texts(
            scope, corpus, cut or natural_segmentation(scope), max_tokens or MAP_TOKENS, reading
        )
        for first, second in itertools.islice(texts, counts.texts, most):
            one = scope.read(first, second, keep=("weights",), truncate=True)
            with part.step(counts.state):
                counts.add(one)
            run.tell(counts.texts, most)
        if not counts.texts:
            raise BadInput(nothing_to_read(cut or natural_segmentation(scope)))
        found = counts.table()
        if output is not None:
            write_table(found, output)
    return found


def natural_segmentation(scope: Scope) -> Segmentation:
    """Bidirectional models read sentence pairs, as in their training."""
    return "documents" if scope.causal else "pairs"


def _identity(scope: Scope, corpus: Any, output: object, settings: list[Any]) -> dict[str, Any]:
    need_scope(scope)
    if output is not None:
        check_table(Path(str(output)))
    check_weights(scope.model, scope.name)
    return {**scope_identity(scope), "corpus": corpus_identity(corpus), "settings": settings}


def _rereadable(corpus: Any, reading: dict[str, Any]) -> Any:
    """The corpus, or a list of it if it can be read only once: its content is its identity."""
    if not reads_once(corpus):
        return corpus
    options = Options.named(reading)
    return list(Reader(options.field, options.layout).every(corpus, Faults(options.bad_data)))


def _texts(
    scope: Scope, corpus: Any, cut: Segmentation, longest: int, reading: dict[str, Any]
) -> Iterator[tuple[str, str | None]]:
    options = Options.named({**reading, "segments": cut})
    documents = Reader(options.field, options.layout).documents(corpus, Faults(options.bad_data))
    for one in segments(documents, cut, scope.tokenizer, longest=longest, seed=options.seed):
        yield one.text, one.pair
