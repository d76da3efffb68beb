"""Tokens and words as people read them, and the words' grammar."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.atlas.speech import grammar_of, parsed
from headscope.errors import HeadscopeError
from headscope.text.spelling import Vocabulary, joined

if TYPE_CHECKING:
    from headscope.atlas.collecting.examples import Examples
    from headscope.atlas.collecting.texts import KeptText
    from headscope.atlas.treebank import TreebankTags

MOST_WORDS = 20_000  # words that a parser gets


class Spelled:
    """Tokens by their ids, as people read them; a tokenizer is asked once for each."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._labels: dict[int, str] = {}

    def __call__(self, ids: Any) -> list[str]:
        numbers = np.asarray(ids, dtype=np.int64)
        new = np.array([n for n in np.unique(numbers).tolist() if n not in self._labels], np.int64)
        if len(new):
            labels = Vocabulary(self._tokenizer, new).labels(new)
            self._labels |= dict(zip(new.tolist(), labels, strict=True))
        return [self._labels[number] for number in numbers.tolist()]


@dataclass(frozen=True)
class Grammar:
    """Of every word of a text."""

    speech: list[str]
    governor: list[int]  # its number; a root's is its own
    relation: list[str]  # relation to the governor


@dataclass
class Words:
    """A text as words."""

    of_token: NDArray[np.int64]  # -1: a special token
    texts: list[str]
    grammar: Grammar | None = None

    @property
    def speech_of_tokens(self) -> list[str]:
        """The part of speech of each token's word, "" for special tokens; none if not known."""
        if self.grammar is None:
            return []
        return ["" if word < 0 else self.grammar.speech[word] for word in self.of_token.tolist()]


def words_behind(
    collected: Examples, shown: Any, spelled: Spelled | None, trees: TreebankTags | None
) -> dict[int, Words]:
    """The texts of drawn positions, then those of the examples shown; none without text.

    The drawn ones come first: profiles are counted over them.
    """
    if spelled is None:
        return {}
    numbers = [*collected.drawn.document.tolist(), *sorted(set(shown["document"].tolist()))]
    return words_of_texts(numbers, collected.texts, spelled, trees)


def words_of_texts(
    numbers: Iterable[int],
    texts: Mapping[int, KeptText],
    spelled: Spelled,
    trees: TreebankTags | None,
) -> dict[int, Words]:
    """The numbered texts with their grammar: a treebank's, or a parser's for the first of them, or
    none if no parser is installed."""
    found: dict[int, Words] = {}
    count = 0
    for number in numbers:
        if number not in found and (trees is not None or count < MOST_WORDS):
            found[number] = words_of(texts[number], spelled)
            count += len(found[number].texts)
    if trees is not None:
        for words in found.values():
            words.grammar = trees.grammar(words.texts)
        return {number: words for number, words in found.items() if words.grammar is not None}
    _parse(list(found.values()))
    return found


def words_of(text: KeptText, spelled: Spelled) -> Words:
    of_token: list[int] = []
    words: list[list[str]] = []  # their pieces
    for token, its_class, goes_on in zip(
        spelled(text.ids), text.classes.tolist(), text.continues.tolist(), strict=True
    ):
        if its_class <= 2:
            of_token.append(-1)
            continue
        if goes_on and words and of_token[-1] >= 0:
            words[-1].append(token)
        else:
            words.append([token])
        of_token.append(len(words) - 1)
    return Words(np.array(of_token, dtype=np.int64), [joined(pieces) for pieces in words])


def _parse(every: list[Words]) -> None:
    try:
        for words, document in zip(every, parsed([each.texts for each in every]), strict=True):
            words.grammar = Grammar(*grammar_of(document))
    except HeadscopeError:  # no parser is installed
        return
