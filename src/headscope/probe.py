"""Probes by name: `hs.probe.dependency(scope, "dev.conllu", test="test.conllu")`.

Data is a path (`"sample"`: the data that is shipped) or what the readers of `headscope.corpus`
give. Every function takes `limit=`, `output=`, `restart=` and `progress=`, and the options of the
probe it stands for.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.arguments import need_scope

if TYPE_CHECKING:
    from headscope.corpus.bad_data import Choice
    from headscope.corpus.coreference.documents import CoreferenceDocument
    from headscope.corpus.relations.examples import Relation
    from headscope.corpus.treebanks.conllu import Sentence
    from headscope.probes.all_heads.run import AllHeadsResult
    from headscope.probes.coreference.heads import CoreferenceResult
    from headscope.probes.dependency.heads import DependencyResult
    from headscope.probes.features.attention import FeaturesResult
    from headscope.probes.relations.heads import RelationsResult
    from headscope.reading import Scope

    Trees = str | Path | Iterable[Sentence]

__all__ = ["all_heads", "coreference", "dependency", "features", "relations"]


def dependency(
    scope: Scope,
    treebank: Trees,
    test: Trees | None = None,
    *,
    bad: Choice = "skip",
    **options: Any,
) -> DependencyResult:
    """Which head attends from a word to its syntactic governor, or back; see `probe_dependency`."""
    need_scope(scope)
    from headscope.probes.dependency.heads import probe_dependency

    scored = None if test is None else _trees(test, bad)
    return probe_dependency(scope, _trees(treebank, bad), scored, bad=bad, **options)


def coreference(
    scope: Scope,
    documents: str | Path | Iterable[CoreferenceDocument],
    *,
    bad: Choice = "skip",
    **options: Any,
) -> CoreferenceResult:
    """Which head attends from a mention to what it refers back to; see `probe_coreference`."""
    need_scope(scope)
    from headscope.corpus.coreference.corpus import CoreferenceCorpus
    from headscope.probes.coreference.heads import probe_coreference

    opened = CoreferenceCorpus(documents, bad) if isinstance(documents, (str, Path)) else documents
    return probe_coreference(scope, opened, bad=bad, **options)


def relations(
    scope: Scope,
    examples: str | Path | Iterable[Relation],
    *,
    bad: Choice = "skip",
    **options: Any,
) -> RelationsResult:
    """Which head links a target and its elements; see `probe_relations`."""
    need_scope(scope)
    from headscope.corpus.relations.corpus import Relations
    from headscope.probes.relations.heads import probe_relations

    opened = Relations(examples, bad) if isinstance(examples, (str, Path)) else examples
    return probe_relations(scope, opened, bad=bad, **options)


def features(
    scope: Scope, treebank: Trees, *, bad: Choice = "skip", **options: Any
) -> FeaturesResult:
    """How much attention goes to nouns, verbs, subjects, objects …; see `probe_features`."""
    need_scope(scope)
    from headscope.probes.features.attention import probe_features

    return probe_features(scope, _trees(treebank, bad), bad=bad, **options)


def all_heads(
    scope: Scope, train: Trees, dev: Trees, test: Trees, *, bad: Choice = "skip", **options: Any
) -> AllHeadsResult:
    """What a learned combination of all heads knows of syntax; see `probe_all_heads`."""
    need_scope(scope)
    from headscope.probes.all_heads.run import probe_all_heads

    parts = [_trees(part, bad) for part in (train, dev, test)]
    return probe_all_heads(scope, *parts, bad=bad, **options)


def _trees(given: Any, bad: Choice) -> Any:
    """Sentences with trees: a treebank's, or spaCy's where the file is plain text."""
    if not isinstance(given, (str, Path)):
        return given
    if str(given).endswith(".txt"):
        from headscope.corpus.parsed_text import parsed_text

        return list(parsed_text(given, bad=bad))
    from headscope.corpus.treebanks.treebank import Treebank

    return Treebank(given, bad)
