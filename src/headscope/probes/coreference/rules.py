"""Three baselines for coreference that look at words only: nearest, head match, four sieves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headscope.corpus.coreference.documents import CoreferenceDocument, Mention
from headscope.probes.coreference.agreement import agree, attributes

Rule = Callable[[CoreferenceDocument, Mention, Sequence[Mention]], Mention | None]


def nearest(
    document: CoreferenceDocument, mention: Mention, others: Sequence[Mention]
) -> Mention | None:
    """The mention whose head is closest (the one before, if two are equally close)."""
    del document
    return min(
        others, key=lambda o: (abs(mention.head - o.head), o.head > mention.head), default=None
    )


def head_match(
    document: CoreferenceDocument, mention: Mention, others: Sequence[Mention]
) -> Mention | None:
    """The nearest mention with the same head word; no answer when there is none."""
    word = document.words[mention.head].lower()
    same = [o for o in others if document.words[o.head].lower() == word]
    return nearest(document, mention, same)


def sieves(
    document: CoreferenceDocument, mention: Mention, others: Sequence[Mention]
) -> Mention | None:
    """The nearest mention in the first sieve that lets any through.

    Same string, same head word, agreement in number, gender and person, anything.
    """

    def string(of: Mention) -> str:
        return " ".join(document.words[of.start : of.end]).lower()

    def head_word(of: Mention) -> str:
        return document.words[of.head].lower()

    def agrees(other: Mention) -> bool:
        return agree(own, attributes(document, other))

    def same_string(other: Mention) -> bool:
        return string(other) == string(mention)

    def same_head_word(other: Mention) -> bool:
        return head_word(other) == head_word(mention)

    own = attributes(document, mention)
    for keep in (same_string, same_head_word, agrees):
        if kept := [o for o in others if keep(o)]:
            return nearest(document, mention, kept)
    return nearest(document, mention, others)


RULES: dict[str, Rule] = {"nearest": nearest, "head match": head_match, "rule-based": sieves}
