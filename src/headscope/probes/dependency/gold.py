"""The gold trees of a batch as tensors, one row a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus.treebanks.conllu import Sentence

Possessive = Literal["word", "marker"]  # who speaks for a possessor: itself, or its 's
POSSESSIVE = ("poss", "nmod:poss")
MARKERS = ("'s", "’s", "'", "’")


@dataclass(frozen=True)
class Gold:
    """The right answers for scoring heads."""

    heads: Tensor  # b w, -1 for the root and beyond the sentence
    relations: Tensor  # b w, number of the relation in the label list
    speaker: Tensor  # b w, the word whose prediction counts for this word
    counted: Tensor  # b w, False beyond the sentence and where a word has no token


def gold_trees(
    sentences: Sequence[Sentence],
    present: NDArray[np.bool_],
    labels: dict[str, int],
    possessive: Possessive = "word",
) -> Gold:
    """Lay the trees of a batch out; new relations are added to `labels`.

    With `possessive="marker"` a possessor is scored by what its `'s` attends to, as in Clark et
    al.'s code. Words that the tokenizer dropped, and words whose head it dropped, are not counted.
    """
    rows, width = present.shape
    heads = np.full((rows, width), -1, np.int64)
    relations = np.zeros((rows, width), np.int64)
    speaker = np.tile(np.arange(width), (rows, 1))
    counted = np.zeros((rows, width), bool)
    for row, sentence in enumerate(sentences):
        size = len(sentence)
        of = np.array(sentence.heads)
        heads[row, :size] = of
        for word, relation in enumerate(sentence.relations):
            relations[row, word] = labels.setdefault(relation, len(labels))
            marked = relation in POSSESSIVE and sentence.words[word + 1 : word + 2][:1]
            if possessive == "marker" and marked and marked[0] in MARKERS:
                speaker[row, word] = word + 1
        has_token = present[row, :size]
        counted[row, :size] = has_token & ((of < 0) | has_token[of])
    return Gold(*(torch.from_numpy(array) for array in (heads, relations, speaker, counted)))
