"""The words of the texts that places are drawn from, and what is known of their grammar."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.atlas.speech import grammar_of, parsed
from headscope.errors import HeadscopeError
from headscope.text.spelling import joined

if TYPE_CHECKING:
    from headscope.atlas.spelled import Spelled
    from headscope.atlas.treebank import TreebankTags
    from headscope.statistics.places.places import Places
    from headscope.statistics.places.texts import KeptText

MOST_WORDS = 20_000  # that a parser is given


@dataclass(frozen=True)
class Grammar:
    """Of every word of a text."""

    speech: list[str]
    governor: list[int]  # its place; a root's is its own
    relation: list[str]  # to the governor


@dataclass
class Words:
    """A text as words."""

    of_token: NDArray[np.int64]  # -1: a special token
    texts: list[str]
    grammar: Grammar | None = None

    @property
    def speech_of_tokens(self) -> list[str]:
        """The part of speech of each token's word, empty for special tokens; none if not known."""
        if self.grammar is None:
            return []
        return ["" if word < 0 else self.grammar.speech[word] for word in self.of_token.tolist()]


def words_behind(
    places: Places, examples: Any, spelled: Spelled | None, trees: TreebankTags | None
) -> dict[int, Words]:
    """The texts that places were drawn from, then those that examples stand in; none without text.

    The drawn ones come first: profiles are counted over them.
    """
    if spelled is None:
        return {}
    drawn = places.drawn.document[: len(places.drawn)].tolist()
    numbers = [*drawn, *sorted(set(examples["document"].tolist()))]
    return words_of_texts(numbers, places.texts, spelled, trees)


def words_of_texts(
    numbers: Iterable[int],
    texts: Mapping[int, KeptText],
    spelled: Spelled,
    trees: TreebankTags | None,
) -> dict[int, Words]:
    """The texts of those numbers with their grammar: a treebank's own, or what a parser says of
    the first of them, or none where no parser is installed."""
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
