"""Which heads attend from one thing to another, over a corpus: ranked with lift and error.

The question becomes a pattern, which a survey measures like every other: attention from the queries
that fit to the keys that fit, compared with uniform attention and with chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.arguments import need_scope
from headscope.atlas.search import Text, matches
from headscope.atlas.speech import governors, known_speech, parts_of_speech
from headscope.atlas.treebank import trees_of
from headscope.atlas.words import Grammar
from headscope.errors import BadInput
from headscope.patterns.as_statistics import PatternMeasure, of_pattern
from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.evidence import table as evidence
from headscope.patterns.token_pairs import TokenPairs
from headscope.statistics.features.grid import Grid
from headscope.surveys.run import survey
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope
    from headscope.runs import ProgressCallback

SAME, GOVERNOR, SPEECH = "same", "governor", "pos:"
_SAME_WORD = "the same word"
Marks = NDArray[np.bool_]


def find_heads(
    scope: Scope,
    corpus: Any,
    query: Text,
    key: Text,
    *,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
    **options: Any,
) -> pd.DataFrame:
    """Every head with its attention from queries to keys, the clearest first.

    Both are a token or word as the text spells it, a regular expression ("/^un/"), or a part of
    speech ("pos:NOUN"). `key` may also be "same" (other occurrences of the query's word) or
    "governor" (of the query's word). Grammar comes from the corpus if it is a treebank, else from
    spaCy. Queries of cross attention are tokens of the decoder's text, its keys of the encoder's.
    Columns: kind, layer, head, score (mean over texts of the attention of the queries that have
    such a key), uniform (of uniform attention), lift (their ratio), error, p, documents, and
    `clear`, which chance makes true for any head of the model in at most 1 % of cases.
    """
    need_scope(scope)
    asked = _Asked(_Side.of(query, "query"), _Side.of(key, "key"), _Grammar(corpus))
    pattern = MassPattern(
        name="found",
        label=f"{asked.query.said} → {asked.key.said}",
        about=f"attends from {asked.query.said} to {asked.key.said}",
        least_score=0.0,
        least_lift=1.0,
        targets=asked.targets,
        pool=_all_seen,
    )
    found = survey(
        scope, corpus, [_of_every_kind(measure) for measure in of_pattern(pattern)],
        limit=limit, output=output, restart=restart, progress=progress, **options,
    )  # fmt: skip
    frame: Any = evidence(found.table, {pattern.name: pattern})
    if frame.empty:
        raise BadInput(
            f"No text of the corpus has a query {asked.query.said} that sees a key "
            f"{asked.key.said}; search for something else, or use a larger corpus."
        )
    frame = frame.rename(columns={"labelled": "clear"}).drop(columns=["pattern", "null"])
    return frame.sort_values(
        ["clear", "score"], ascending=[False, False], kind="stable"
    ).reset_index(drop=True)


def _of_every_kind(measure: type[PatternMeasure]) -> PatternMeasure:
    """The pattern of a question; unlike others it also spans two texts."""
    measure.kinds = ("encoder", "decoder", "cross")
    measure.reads_text = True
    return measure()


@dataclass(frozen=True)
class _Side:
    """What a query or a key must be."""

    said: str
    text: Text | None = None
    speech: str | None = None

    @staticmethod
    def of(given: Text, side: str) -> _Side:
        if isinstance(given, str) and not given.strip():
            raise BadInput(f"Give the {side} to search for, for example 'it' or '/^un/'.")
        if isinstance(given, str) and given.startswith(SPEECH):
            speech = known_speech(given[len(SPEECH) :])
            return _Side(speech, speech=speech)
        if given in (SAME, GOVERNOR) and side == "key":
            return _Side(_SAME_WORD if given == SAME else "its governor")
        matches([], given)  # an invalid question raises before a model runs
        return _Side(repr(given) if isinstance(given, str) else given.pattern, text=given)

    def marks(self, tokens: Tokens, grammar: _Grammar) -> Marks:
        """Which tokens fit, or belong to a word that does."""
        if self.speech is not None:
            tags = grammar.speech(tokens.word_texts)
            return np.array([w >= 0 and tags[w] == self.speech for w in tokens.word_ids])
        assert self.text is not None
        words = [tokens.word_texts[w] if w >= 0 else "" for w in tokens.word_ids]
        return matches(tokens.labels, self.text) | matches(words, self.text)


class _Grammar:
    """Grammar of the corpus's words: its own if it is a treebank, else a parser's."""

    def __init__(self, corpus: Any) -> None:
        self._trees = trees_of(corpus)

    def speech(self, words: Sequence[str]) -> Sequence[str]:
        known = self._known(words)
        return parts_of_speech([words])[0] if known is None else known.speech

    def governors(self, words: Sequence[str]) -> Sequence[int]:
        known = self._known(words)
        return governors([words])[0] if known is None else known.governor

    def _known(self, words: Sequence[str]) -> Grammar | None:
        return None if self._trees is None else self._trees.grammar(list(words))


class _Asked:
    """The pairs of tokens that are meant, as a relation of tokens."""

    def __init__(self, query: _Side, key: _Side, grammar: _Grammar) -> None:
        self.query, self.key, self.grammar = query, key, grammar

    def targets(self, pairs: TokenPairs) -> Tensor:
        """b tq s bool."""
        memo = pairs.grid.memo  # the same for every layer
        if self not in memo:
            memo[self] = self._aimed(pairs.grid)
        return memo[self][:, pairs.queries]

    def _aimed(self, grid: Grid) -> Tensor:
        """b t s bool."""
        assert grid.tokens is not None
        keys = grid.tokens if grid.same else grid.key_tokens
        assert keys is not None
        aimed = torch.zeros(len(keys), grid.query.ids.shape[1], grid.key.ids.shape[1]).bool()
        for row, texts in enumerate(zip(grid.tokens, keys, strict=True)):
            found = self._pairs(*texts)
            aimed[row, : found.shape[0], : found.shape[1]] = torch.from_numpy(found)
        return aimed.to(grid.key.ids.device)

    def _pairs(self, tokens: Tokens, keys: Tokens) -> Marks:
        """t s bool: the pairs that fit in one text, or from one text to another."""
        asking = self.query.marks(tokens, self.grammar)
        if self.key.text is not None or self.key.speech is not None:
            return asking[:, None] & self.key.marks(keys, self.grammar)[None]
        words, of_keys, within = tokens.word_ids, keys.word_ids, tokens is keys
        if self.key.said == _SAME_WORD:
            texts, others = (np.array(_words(each), dtype=object) for each in (tokens, keys))
            fits = texts[:, None] == others[None]
            fits &= (words[:, None] != of_keys[None]) | (not within)
        elif within:
            governor = np.array(self.grammar.governors(tokens.word_texts), dtype=np.int64)
            above = np.where(words >= 0, governor[np.maximum(words, 0)], -1)
            fits = (above[:, None] == words[None]) & (above != words)[:, None]
        else:  # governors are never in another text
            fits = np.zeros((len(tokens), len(keys)), dtype=bool)
        return asking[:, None] & fits & (words >= 0)[:, None] & (of_keys >= 0)[None]


def _words(tokens: Tokens) -> list[str]:
    return [tokens.word_texts[word].lower() if word >= 0 else "" for word in tokens.word_ids]


def _all_seen(pairs: TokenPairs) -> Tensor:
    return pairs.visible
