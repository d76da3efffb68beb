"""Probes by name: `hs.probe.dependency(scope, "dev.conllu", test="test.conllu")`.

Data is a path (`"sample"`: the data that is shipped) or what the readers of `headscope.corpus`
give. Every function takes `limit=`, `output=`, `restart=` and `progress=`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from headscope import arguments
from headscope.checked import checked

if TYPE_CHECKING:
    from headscope.corpus.bad_data import Choice, Faults
    from headscope.corpus.coreference.documents import CoreferenceDocument
    from headscope.corpus.links.linked import Linked
    from headscope.corpus.relations.examples import Relation
    from headscope.corpus.treebanks.conllu import Sentence
    from headscope.probes.all_heads.run import AllHeadsResult, VectorSource
    from headscope.probes.coreference.cases import Windows
    from headscope.probes.coreference.heads import CoreferenceResult
    from headscope.probes.dependency.gold import Possessive
    from headscope.probes.dependency.heads import DependencyResult, Subtypes
    from headscope.probes.features.attention import FeaturesResult
    from headscope.probes.relations.heads import RelationsResult
    from headscope.probes.word_level import Mode
    from headscope.reading import Scope
    from headscope.roles.find import Lists
    from headscope.roles.result import FoundHeads
    from headscope.runs import ProgressCallback

    Trees = str | Path | Iterable[Sentence]

__all__ = [
    "alignment", "all_heads", "atoms", "contacts", "coreference", "dependency", "features",
    "relations", "speech",
]  # fmt: skip


@checked
def dependency(
    scope: Scope,
    treebank: Trees,
    test: Trees | None = None,
    *,
    subtypes: Subtypes = "keep",
    possessive: Possessive = "word",
    mode: Mode = "mean",
    max_tokens: int | None = 128,
    minimum: int = 100,
    seed: int = 0,
    bad_data: Choice = "skip",
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> DependencyResult:
    """Which head attends from a word to its syntactic governor, or back, relation by relation.

    Parameters
    ----------
    scope
        The model, as `hs.load` opens it.
    treebank
        Sentences with trees: CoNLL-U, plain text (parsed by spaCy), or "sample".
    test
        The treebank that the best heads are scored on; every second sentence if left out.
    subtypes
        "keep" nsubj:pass apart from nsubj, or "fold" the two.
    possessive
        Whether a possessor is scored by its "word" or its "marker".
    mode
        Whether the "mean" of a word's pieces or the "first" piece speaks for the word.
    max_tokens
        Longer sentences are left out.
    minimum
        The number of cases a relation needs.
    seed
        Of everything drawn at random.
    bad_data
        "skip" and count data that cannot be read, or "refuse" it.
    limit
        Only the first sentences.
    output
        A .csv or .parquet file to write; a stopped run resumes from it.
    restart
        Whether to start over instead of resuming.
    progress
        Whether to show progress, or a function that is called with it.

    Returns
    -------
    DependencyResult
        The best heads, every head's accuracy on every relation, and `cases`: every scored word
        with its governor and what its relation's head chose. `summary` compares head and offset
        case by case; `hidden` lists relations with fewer than `minimum` cases.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.probe.dependency(hs.load(), "sample", limit=8, minimum=1, progress=False)
    >>> "layer" in found.table
    True
    """
    arguments.need_scope(scope)
    from headscope.probes.dependency.heads import probe_dependency

    scored = None if test is None else _trees(test, bad_data)
    return probe_dependency(
        scope, _trees(treebank, bad_data), scored, subtypes=subtypes, possessive=possessive,
        mode=mode, max_tokens=max_tokens, minimum=minimum, seed=seed, bad_data=bad_data,
        limit=limit, output=output, restart=restart, progress=progress,
    )  # fmt: skip


@checked
def coreference(
    scope: Scope,
    documents: str | Path | Iterable[CoreferenceDocument],
    *,
    windows: Windows = "first",
    mode: Mode = "mean",
    max_tokens: int | None = 128,
    seed: int = 0,
    bad_data: Choice = "skip",
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> CoreferenceResult:
    """Which head attends from a mention to what it refers back to.

    Parameters
    ----------
    scope
        The model, as `hs.load` opens it.
    documents
        CoNLL-2012, CoNLL-U with entities, GAP, or "sample".
    windows
        The "first" window of every document, or "all".
    mode, max_tokens, seed, bad_data, limit, output, restart, progress
        As for `dependency`.

    Returns
    -------
    CoreferenceResult
        Every head's accuracy, the best heads scored on the other half of the documents against
        a rule, and in `cases` every scored mention with what the best heads chose.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.probe.coreference(hs.load(), "sample", limit=2, progress=False)
    >>> "layer" in found.table
    True
    """
    arguments.need_scope(scope)
    from headscope.corpus.coreference.corpus import CoreferenceCorpus
    from headscope.probes.coreference.heads import probe_coreference

    if isinstance(documents, (str, Path)):
        documents = CoreferenceCorpus(documents, bad_data)
    return probe_coreference(
        scope, documents, windows=windows, mode=mode, max_tokens=max_tokens, seed=seed,
        bad_data=bad_data, limit=limit, output=output, restart=restart, progress=progress,
    )  # fmt: skip


@checked
def relations(
    scope: Scope,
    examples: str | Path | Iterable[Relation],
    *,
    shuffles: int = 99,
    max_tokens: int | None = None,
    seed: int = 0,
    bad_data: Choice = "skip",
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> RelationsResult:
    """Which head links a target and its elements, such as a frame and its roles.

    Parameters
    ----------
    scope
        The model, as `hs.load` opens it.
    examples
        JSONL with text, target and elements, a FrameNet folder, or "sample".
    shuffles
        How many displaced corpora the null distribution is made of.
    max_tokens, seed, bad_data, limit, output, restart, progress
        As for `dependency`.

    Returns
    -------
    RelationsResult
        Every head's score, and its probability by chance.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.probe.relations(hs.load(), "sample", limit=8, shuffles=9, progress=False)
    >>> "layer" in found.table
    True
    """
    arguments.need_scope(scope)
    from headscope.corpus.relations.corpus import Relations
    from headscope.probes.relations.heads import probe_relations

    opened = Relations(examples, bad_data) if isinstance(examples, (str, Path)) else examples
    return probe_relations(
        scope, opened, shuffles=shuffles, max_tokens=max_tokens, seed=seed, bad_data=bad_data,
        limit=limit, output=output, restart=restart, progress=progress,
    )  # fmt: skip


@checked
def features(
    scope: Scope,
    treebank: Trees,
    *,
    max_tokens: int | None = 128,
    bad_data: Choice = "skip",
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> FeaturesResult:
    """How much attention goes to nouns, verbs, subjects, objects, negation and special tokens.

    Parameters
    ----------
    scope
        The model, as `hs.load` opens it.
    treebank
        Sentences with trees: CoNLL-U, plain text (parsed by spaCy), or "sample".
    max_tokens, bad_data, limit, output, restart, progress
        As for `dependency`.

    Returns
    -------
    FeaturesResult
        Every head's attention to every feature.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.probe.features(hs.load(), "sample", limit=4, progress=False)
    >>> "layer" in found.table
    True
    """
    arguments.need_scope(scope)
    from headscope.probes.features.attention import probe_features

    return probe_features(
        scope, _trees(treebank, bad_data), max_tokens=max_tokens, bad_data=bad_data, limit=limit,
        output=output, restart=restart, progress=progress,
    )  # fmt: skip


@checked
def all_heads(
    scope: Scope,
    train: Trees,
    dev: Trees,
    test: Trees,
    *,
    probes: Iterable[str] | None = None,
    vectors: VectorSource = "glove",
    glove: str | Path | None = None,
    mode: Mode = "mean",
    max_tokens: int | None = 128,
    epochs: int = 12,
    seed: int = 0,
    bad_data: Choice = "skip",
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> AllHeadsResult:
    """What a learned combination of all heads knows of syntax.

    Parameters
    ----------
    scope
        The model, as `hs.load` opens it.
    train, dev, test
        Treebanks to train on, to stop early by, and to score on.
    probes
        Which probes to train; all if left out.
    vectors
        Word vectors from "glove", or the model's own "embeddings".
    glove
        A GloVe text file.
    epochs
        The most passes over `train`.
    mode, max_tokens, seed, bad_data, limit, output, restart, progress
        As for `dependency`.

    Returns
    -------
    AllHeadsResult
        The accuracy of every probe, and what each learned of every head.

    Examples
    --------
    >>> import headscope as hs
    >>> trees = "train.conllu", "dev.conllu", "test.conllu"
    >>> found = hs.probe.all_heads(hs.load(), *trees, vectors="embeddings")  # doctest: +SKIP
    """
    arguments.need_scope(scope)
    from headscope.probes.all_heads.run import PROBES, probe_all_heads

    return probe_all_heads(
        scope, _trees(train, bad_data), _trees(dev, bad_data), _trees(test, bad_data),
        probes=PROBES if probes is None else probes, vectors=vectors, glove=glove, mode=mode,
        max_tokens=max_tokens, epochs=epochs, seed=seed, bad_data=bad_data, limit=limit,
        output=output, restart=restart, progress=progress,
    )  # fmt: skip


@checked
def alignment(
    scope: Scope,
    source: str | Path,
    target: str | Path | None = None,
    links: str | Path | None = None,
    *,
    predicting: bool = False,
    most_heads: int = 4,
    lists: Lists | None = None,
    max_tokens: int | None = None,
    seed: int = 0,
    bad_data: Choice = "skip",
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> FoundHeads:
    """Which head aligns the words of a translation, by alignment error rate.

    Parameters
    ----------
    scope
        A translator, or a model that reads both sentences together.
    source
        The source sentences in words, one a line; or one file of `source ||| target ||| 0-0 1-2`.
    target
        The translations, line by line.
    links
        Word alignments as Pharaoh writes them: `0-0 1-2`, source first; `1p2` is a possible link.
    predicting
        Whether a word is asked at the position that predicts it, one before its own.
    most_heads, lists, max_tokens, seed, bad_data, limit, output, restart, progress
        As for `hs.find_heads`.

    Returns
    -------
    FoundHeads
        Every head's alignment error rate, precision and AUC.

    Examples
    --------
    >>> import headscope as hs
    >>> scope = hs.load("Helsinki-NLP/opus-mt-en-de")  # doctest: +SKIP
    >>> hs.probe.alignment(scope, "gold.txt").table  # doctest: +SKIP
    """
    arguments.need_scope(scope)
    from dataclasses import replace

    from headscope.corpus.links.pharaoh import read_one_file, read_pharaoh
    from headscope.errors import BadInput
    from headscope.roles.fields import ALIGNMENT
    from headscope.roles.find import Documents, search

    if (target is None) != (links is None):
        raise BadInput("Give target and links together, or one file with all three parts.")

    def read(faults: Faults) -> Iterator[Linked]:
        if target is None or links is None:
            return read_one_file(source, faults)
        return read_pharaoh(source, target, links, faults)

    return search(
        scope, Documents(read, bad_data), replace(ALIGNMENT, shift=-1 if predicting else 0),
        most_heads=most_heads, lists=lists, max_tokens=max_tokens,
        seed=seed, bad_data=bad_data, limit=limit, output=output, restart=restart,
        progress=progress,
    )  # fmt: skip


@checked
def atoms(
    scope: Scope,
    reactions: str | Path,
    *,
    most_heads: int = 4,
    lists: Lists | None = None,
    max_tokens: int | None = None,
    seed: int = 0,
    bad_data: Choice = "skip",
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> FoundHeads:
    """Which head maps the atoms of a product to those of the reactants.

    Parameters
    ----------
    scope
        A model of reaction SMILES.
    reactions
        Atom-mapped reaction SMILES, one a line. Map numbers are removed before the model reads it.
        A product's atom may come from any precursor atom of its element.
    most_heads, lists, max_tokens, seed, bad_data, limit, output, restart, progress
        As for `hs.find_heads`.

    Returns
    -------
    FoundHeads
        Every head's precision at one and AUC, with attention added in both directions too.

    Examples
    --------
    >>> import headscope as hs
    >>> scope = hs.load("./rxnmapper")  # doctest: +SKIP
    >>> hs.probe.atoms(scope, "reactions.txt").table  # doctest: +SKIP
    """
    arguments.need_scope(scope)
    from headscope.corpus.links.reactions import read_reactions
    from headscope.roles.fields import ATOMS
    from headscope.roles.find import Documents, search

    return search(
        scope, Documents(lambda faults: read_reactions(reactions, faults), bad_data), ATOMS,
        most_heads=most_heads, lists=lists, max_tokens=max_tokens,
        seed=seed, bad_data=bad_data, limit=limit, output=output, restart=restart,
        progress=progress,
    )  # fmt: skip


@checked
def contacts(
    scope: Scope,
    proteins: str | Path,
    *,
    contact: float = 8.0,
    apart: int = 6,
    most_heads: int = 4,
    lists: Lists | None = None,
    max_tokens: int | None = None,
    seed: int = 0,
    bad_data: Choice = "skip",
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> FoundHeads:
    """Which head attends between residues that touch, by precision at L/5.

    Attention is added in both directions and corrected by the average product (APC).

    Parameters
    ----------
    scope
        A model of protein sequences.
    proteins
        JSONL with `sequence`, and `contacts` [[i, j], …] or `distances`, L × L in ångström.
    contact
        Residues nearer than this, in ångström, touch.
    apart
        Pairs nearer than this in the sequence do not count.
    most_heads, lists, max_tokens, seed, bad_data, limit, output, restart, progress
        As for `hs.find_heads`.

    Returns
    -------
    FoundHeads
        Every head's precision at L/5, precision at one and AUC.

    Examples
    --------
    >>> import headscope as hs
    >>> scope = hs.load("facebook/esm2_t6_8M_UR50D")  # doctest: +SKIP
    >>> hs.probe.contacts(scope, "proteins.jsonl").table  # doctest: +SKIP
    """
    arguments.need_scope(scope)
    from dataclasses import replace

    from headscope.corpus.links.contacts import read_contacts
    from headscope.roles.fields import CONTACTS
    from headscope.roles.find import Documents, search

    def read(faults: Faults) -> Iterator[Linked]:
        return read_contacts(proteins, faults, contact=contact, apart=apart)

    return search(
        scope, Documents(read, bad_data), replace(CONTACTS, apart=apart),
        most_heads=most_heads, lists=lists, max_tokens=max_tokens, seed=seed, bad_data=bad_data,
        limit=limit, output=output, restart=restart, progress=progress,
    )  # fmt: skip


@checked
def speech(
    scope: Scope,
    recordings: str | Path,
    *,
    most_heads: int = 4,
    lists: Lists | None = None,
    seed: int = 0,
    bad_data: Choice = "skip",
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> FoundHeads:
    """Which cross head times words, by the mean absolute error of their starts and ends.

    Attention is standardised over tokens, smoothed, and warped in time, as Whisper times words.

    Parameters
    ----------
    scope
        A Whisper.
    recordings
        A folder of sounds with word times beside them: TextGrid, CTM or Whisper's JSON.
    most_heads, lists, seed, bad_data, limit, output, restart, progress
        As for `hs.find_heads`.

    Returns
    -------
    FoundHeads
        Every cross head's time error in seconds, precision at one and AUC over moments.

    Examples
    --------
    >>> import headscope as hs
    >>> scope = hs.load("openai/whisper-tiny.en")  # doctest: +SKIP
    >>> hs.probe.speech(scope, "recordings").table  # doctest: +SKIP
    """
    arguments.need_scope(scope)
    from headscope.corpus.links.word_times import read_word_times
    from headscope.roles.fields import SPEECH
    from headscope.roles.find import Documents, search

    return search(
        scope, Documents(lambda faults: read_word_times(recordings, faults), bad_data), SPEECH,
        kind="cross", most_heads=most_heads, lists=lists, seed=seed, bad_data=bad_data,
        limit=limit, output=output, restart=restart, progress=progress,
    )  # fmt: skip


def _trees(given: Trees, bad_data: Choice) -> Iterable[Sentence]:
    """Sentences with trees: a treebank's, or spaCy's where the file is plain text."""
    if not isinstance(given, (str, Path)):
        return given
    if str(given).endswith(".txt"):
        from headscope.corpus.parsed_text import parsed_text

        return list(parsed_text(given, bad_data=bad_data))
    from headscope.corpus.treebanks.treebank import Treebank

    return Treebank(given, bad_data)
