"""Which word heads a mention, and whether it is a pronoun, a proper name or a nominal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Kind = Literal["pronoun", "proper", "nominal"]

_PRONOUNS = (
    "i me my mine myself we us our ours ourselves you your yours yourself yourselves thou thee thy"
    " thine he him his himself she her hers herself it its itself they them their theirs"
    " themselves themself one oneself this that these those who whom whose which 's"
)
PRONOUNS = frozenset(_PRONOUNS.split())

# Words that follow the head of an English noun phrase, for texts without trees.
_CLOSERS = (
    "of in on at by for with from to about between under over who whom whose which that where when"
    " , ( -- - : ;"
)
CLOSERS = frozenset(_CLOSERS.split())


def head_in_tree(start: int, end: int, heads: Sequence[int]) -> int:
    """The word of the span whose governor lies outside it (the first, if several do)."""
    for word in range(start, end):
        if not start <= heads[word] < end:
            return word
    return end - 1  # impossible in a tree; else the last word is the usual head


def head_without_tree(start: int, end: int, words: Sequence[str]) -> int:
    """The last word before a preposition, a relative pronoun or punctuation."""
    for word in range(start + 1, end):
        if words[word].lower() in CLOSERS:
            return word - 1
    if end - start > 1 and words[end - 1].lower() in ("'s", "’s", "'"):
        return end - 2
    return end - 1


def kind_of(word: str, upos: str, xpos: str, opens_sentence: bool) -> Kind:
    """By part of speech where there is one, else by the word itself."""
    if upos or xpos:
        if upos == "PRON" or xpos in ("PRP", "PRP$", "WP", "WP$"):
            return "pronoun"
        # demonstratives and possessives that a scheme tags as determiners still refer
        if upos == "DET" and word.lower() in PRONOUNS:
            return "pronoun"
        return "proper" if upos == "PROPN" or xpos in ("NNP", "NNPS") else "nominal"
    if word.lower() in PRONOUNS:
        return "pronoun"
    return "proper" if word[:1].isupper() and not opens_sentence else "nominal"
