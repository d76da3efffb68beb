"""Probes by name: `hs.probe.dependency(scope, "dev.conllu", test="test.conllu")`.

Data is a path (`"sample"`: the shipped data) or the result of a reader in `headscope.corpus`. Every
function takes `limit=`, `output=`, `restart=` and `progress=`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from headscope.checked import checked
from headscope.corpus.bad_data import Choice, Faults
from headscope.corpus.links.contacts import read_contacts
from headscope.corpus.links.linked import Linked
from headscope.corpus.links.pharaoh import read_one_file, read_pharaoh
from headscope.corpus.links.reactions import read_reactions
from headscope.corpus.links.word_times import read_word_times
from headscope.errors import BadInput
from headscope.probes.all_heads.run import all_heads
from headscope.probes.coreference.heads import coreference
from headscope.probes.dependency.heads import dependency
from headscope.probes.features.attention import features
from headscope.probes.relations.heads import relations
from headscope.roles import fields
from headscope.roles.find import Documents, Lists, search
from headscope.roles.result import FoundHeads
from headscope.runs import ProgressCallback

if TYPE_CHECKING:
    from headscope.reading import Scope

__all__ = [
    "alignment", "all_heads", "atoms", "contacts", "coreference", "dependency", "features",
    "relations", "speech",
]  # fmt: skip


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
    if (target is None) != (links is None):
        raise BadInput("Give target and links together, or one file with all three parts.")

    def read(faults: Faults) -> Iterator[Linked]:
        if target is None or links is None:
            return read_one_file(source, faults)
        return read_pharaoh(source, target, links, faults)

    return search(
        scope, Documents(read, bad_data), replace(fields.ALIGNMENT, shift=-1 if predicting else 0),
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
    return search(
        scope, Documents(lambda faults: read_reactions(reactions, faults), bad_data), fields.ATOMS,
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

    def read(faults: Faults) -> Iterator[Linked]:
        return read_contacts(proteins, faults, contact=contact, apart=apart)

    return search(
        scope, Documents(read, bad_data), replace(fields.CONTACTS, apart=apart),
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
    return search(
        scope, Documents(lambda faults: read_word_times(recordings, faults), bad_data),
        fields.SPEECH, kind="cross", most_heads=most_heads, lists=lists, seed=seed,
        bad_data=bad_data, limit=limit, output=output, restart=restart, progress=progress,
    )  # fmt: skip
