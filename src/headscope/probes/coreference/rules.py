"""Three baselines for coreference by words only: nearest, head match, four sieves.

Mentions agree by number, gender and person of their heads, as far as these are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headscope.corpus.coreference.documents import CoreferenceDocument, Mention

Attributes = tuple[str | None, str | None, str | None]  # number, gender, person

_SINGULAR, _PLURAL = "Sing", "Plur"
_TABLE: dict[str, Attributes] = {}
for _words, _attributes in (
    ("i me my mine myself", (_SINGULAR, None, "1")),
    ("we us our ours ourselves", (_PLURAL, None, "1")),
    ("you your yours yourself", (None, None, "2")),
    ("yourselves", (_PLURAL, None, "2")),
    ("he him his himself", (_SINGULAR, "Masc", "3")),
    ("she her hers herself", (_SINGULAR, "Fem", "3")),
    ("it its itself", (_SINGULAR, "Neut", "3")),
    ("they them their theirs themselves", (_PLURAL, None, "3")),
    ("man boy father son brother husband uncle king gentleman", (_SINGULAR, "Masc", "3")),
    ("woman girl mother daughter sister wife aunt queen lady", (_SINGULAR, "Fem", "3")),
    ("this that", (_SINGULAR, None, "3")),
    ("these those", (_PLURAL, None, "3")),
):
    for _word in _words.split():
        _TABLE[_word] = _attributes
_TITLES = {"mr": "Masc", "sir": "Masc", "lord": "Masc", "mrs": "Fem", "ms": "Fem", "miss": "Fem"}


def attributes(document: CoreferenceDocument, mention: Mention) -> Attributes:
    """Attributes from the word itself, else from the treebank's features, else from its tag."""
    word = document.words[mention.head].lower()
    title = document.words[mention.start].lower().removesuffix(".")
    if word in _TABLE:
        return _TABLE[word]
    given = dict(
        item.split("=", 1) for item in document.features[mention.head].split("|") if "=" in item
    )
    tag = document.xpos[mention.head]
    number = given.get("Number") or {"NNS": _PLURAL, "NNPS": _PLURAL, "NN": _SINGULAR}.get(tag)
    return number, given.get("Gender") or _TITLES.get(title), given.get("Person", "3")


def agree(one: Attributes, other: Attributes) -> bool:
    """Whether no attribute that is known for both differs."""
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))


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
    """The nearest mention in the first sieve that accepts any.

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
