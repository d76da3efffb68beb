"""Number, gender and person of a mention's head, as far as they are known."""

from __future__ import annotations

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
    """From the word itself, else from the treebank's features, else from its tag."""
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
    """Nothing that is known of both differs."""
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))
