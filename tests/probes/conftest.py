"""Small treebanks and attention made to order."""

from __future__ import annotations

from collections.abc import Sequence

from headscope.corpus.treebanks.conllu import Sentence


def sentence(words: str, heads: Sequence[int], relations: str, where: str = "made:1") -> Sentence:
    """A sentence by its words, 1-based heads (0 is the root) and relations."""
    split = tuple(words.split())
    blank = ("_",) * len(split)
    return Sentence(
        words=split,
        heads=tuple(head - 1 for head in heads),
        relations=tuple(relations.split()),
        upos=blank,
        xpos=blank,
        features=blank,
        misc=blank,
        lines=tuple(range(1, len(split) + 1)),
        where=where,
    )


CAT = sentence(
    "the cat sat on the mat .", [2, 3, 0, 6, 6, 3, 3], "det nsubj root case det obl punct"
)
BUY = sentence("she bought fresh strawberries", [2, 0, 4, 2], "nsubj root amod obj")
DOG = sentence(
    "the red dog ran to the house", [3, 3, 4, 0, 7, 7, 4], "det amod nsubj root case det obl"
)
SENTENCES = [CAT, BUY, DOG]
