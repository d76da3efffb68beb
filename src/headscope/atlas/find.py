"""Which heads attend from one thing to another, over a corpus: ranked with lift and error.

What is asked becomes a pattern of its own, measured by a survey like every other: the attention of
the queries that fit to the keys that fit, beside even attention and beside chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.arguments import need_scope
from headscope.atlas.search import Text, matches
from headscope.atlas.speech import governors, parts_of_speech
from headscope.errors import BadInput
from headscope.patterns.as_statistics import of_pattern
from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.evidence import table as evidence
from headscope.patterns.token_pairs import TokenPairs
from headscope.statistics.survey.run import survey
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope
    from headscope.runs import ProgressCallback

SAME, GOVERNOR, SPEECH = "same", "governor", "pos:"
_SAME_WORD = "the same word"
KEPT = 4096  # documents whose marks are kept from one layer to the next
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
    speech ("pos:NOUN", told by spaCy). `key` may also be "same" (other places of the query's word)
    or "governor" (of the query's word). Columns: kind, layer, head, score (mean attention of the
    queries that have such a key), uniform (of even attention), lift (their ratio), error, p,
    documents, and `clear`, which holds at most by a chance of 1 % for any head of the model.
    """
    need_scope(scope)
    asked = _Asked(_Side.of(query, "query"), _Side.of(key, "key"))
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
        scope, corpus, [measure() for measure in of_pattern(pattern)],
        limit=limit, output=output, restart=restart, progress=progress, **options,
    )  # fmt: skip
    frame: Any = evidence(found.table, {pattern.name: pattern})
    if frame.empty:
        raise BadInput(
            f"No text of the corpus has a query {asked.query.said} that sees a key "
            f"{asked.key.said}; look for something else, or in more text."
        )
    frame = frame.rename(columns={"labelled": "clear"}).drop(columns=["pattern", "null"])
    return frame.sort_values(
        ["clear", "score"], ascending=[False, False], kind="stable"
    ).reset_index(drop=True)


@dataclass(frozen=True)
class _Side:
    """What a query or a key must be."""

    said: str
    text: Text | None = None
    speech: str | None = None

    @staticmethod
    def of(given: Text, side: str) -> _Side:
        if isinstance(given, str) and not given.strip():
            raise BadInput(f"Say which {side} to look for, for example 'it' or '/^un/'.")
        if isinstance(given, str) and given.startswith(SPEECH):
            return _Side(given[len(SPEECH) :].upper(), speech=given[len(SPEECH) :].upper())
        if given in (SAME, GOVERNOR) and side == "key":
            return _Side(_SAME_WORD if given == SAME else "its governor")
        matches([], given)  # a bad expression is told before a model is run
        return _Side(repr(given) if isinstance(given, str) else given.pattern, text=given)

    def marks(self, tokens: Tokens) -> Marks:
        """Which tokens fit, or belong to a word that does."""
        if self.speech is not None:
            tags = parts_of_speech([tokens.word_texts])[0]
            return np.array([w >= 0 and tags[w] == self.speech for w in tokens.word_ids])
        assert self.text is not None
        words = [tokens.word_texts[w] if w >= 0 else "" for w in tokens.word_ids]
        return matches(tokens.labels, self.text) | matches(words, self.text)


class _Asked:
    """The pairs of tokens that are meant, as a relation of tokens."""

    def __init__(self, query: _Side, key: _Side) -> None:
        self.query, self.key = query, key
        self._kept: dict[int, Marks] = {}

    def targets(self, pairs: TokenPairs) -> Tensor:
        """b tq s bool."""
        grid = pairs.grid
        assert grid.tokens is not None
        shape = (len(grid.tokens), grid.query.ids.shape[1], grid.key.ids.shape[1])
        aimed = torch.zeros(shape, dtype=torch.bool)
        for row, (number, tokens) in enumerate(zip(grid.documents, grid.tokens, strict=True)):
            found = self._kept.get(int(number))
            if found is None:
                if len(self._kept) >= KEPT:
                    self._kept.clear()
                found = self._kept[int(number)] = self._pairs(tokens)
            aimed[row, : len(tokens), : len(tokens)] = torch.from_numpy(found)
        return aimed[:, pairs.queries].to(grid.key.ids.device)

    def _pairs(self, tokens: Tokens) -> Marks:
        """t s bool: the pairs that fit in one text."""
        asking = self.query.marks(tokens)
        if self.key.text is not None or self.key.speech is not None:
            return asking[:, None] & self.key.marks(tokens)[None]
        words = tokens.word_ids
        if self.key.said == _SAME_WORD:
            texts = np.array(_words(tokens), dtype=object)
            fits = (texts[:, None] == texts[None]) & (words[:, None] != words[None])
        else:
            governor = np.array(governors([tokens.word_texts])[0], dtype=np.int64)
            above = np.where(words >= 0, governor[np.maximum(words, 0)], -1)
            fits = (above[:, None] == words[None]) & (above != words)[:, None]
        real = words >= 0
        return asking[:, None] & fits & real[:, None] & real[None]


def _words(tokens: Tokens) -> list[str]:
    return [tokens.word_texts[word].lower() if word >= 0 else "" for word in tokens.word_ids]


def _all_seen(pairs: TokenPairs) -> Tensor:
    return pairs.visible
