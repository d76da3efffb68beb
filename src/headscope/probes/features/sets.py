"""Which words carry a linguistic feature: parts of speech, subjects and objects, negation.

The sets of Kovaleva et al. 2019, section 4.4, for Penn and universal tags and for Stanford,
ClearNLP and universal relations alike.
"""

from __future__ import annotations

from headscope.corpus.treebanks.conllu import Sentence

FEATURES = ("noun", "verb", "pronoun", "subject", "object", "negation")
SPECIALS = ("opening", "separator")  # [CLS] and [SEP], by their role

_NOUN_TAGS = frozenset({"NN", "NNS", "NNP", "NNPS"})
_PRONOUN_TAGS = frozenset({"PRP", "PRP$"})
_SUBJECTS = frozenset({"nsubj", "nsubjpass", "csubj", "csubjpass", "agent", "expl"})
_OBJECTS = frozenset({"obj", "dobj", "iobj", "dative", "attr", "oprd"})
# the paper's seventeen words, and what they become when a treebank splits contractions
_NEGATION = frozenset(
    {
        *("neither", "nor", "not", "never", "none", "nothing", "nowhere", "don't", "won't"),
        *("didn't", "hadn't", "haven't", "can't", "isn't", "wasn't", "shouldn't", "couldn't"),
        *("n't", "n’t"),
    }
)


def words_with(feature: str, sentence: Sentence) -> list[int]:
    """The numbers of the words of a sentence that have the feature."""
    return [n for n in range(len(sentence)) if _has(feature, sentence, n)]


def subject_verb_pairs(sentence: Sentence) -> list[tuple[int, int]]:
    """(subject, verb) for every subject that hangs on a verb."""
    return [
        (word, head)
        for word, head in enumerate(sentence.heads)
        if head >= 0 and _has("subject", sentence, word) and _has("verb", sentence, head)
    ]


def noun_pronoun_pairs(sentence: Sentence) -> list[tuple[int, int]]:
    """Every (noun, pronoun) of a sentence; which belong together is not annotated."""
    nouns, pronouns = words_with("noun", sentence), words_with("pronoun", sentence)
    return [(noun, pronoun) for noun in nouns for pronoun in pronouns]


def _has(feature: str, sentence: Sentence, word: int) -> bool:
    tag, universal = sentence.xpos[word], sentence.upos[word]
    relation = sentence.relations[word]
    if feature == "noun":
        return tag in _NOUN_TAGS or (not _penn(tag) and universal in ("NOUN", "PROPN"))
    if feature == "verb":
        return tag.startswith("VB") or (not _penn(tag) and universal in ("VERB", "AUX"))
    if feature == "pronoun":
        return tag in _PRONOUN_TAGS or (not _penn(tag) and universal == "PRON")
    if feature == "subject":
        return relation.partition(":")[0] in _SUBJECTS
    if feature == "object":
        return relation.partition(":")[0] in _OBJECTS
    return sentence.words[word].lower() in _NEGATION


def _penn(tag: str) -> bool:
    return tag not in ("", "_")
