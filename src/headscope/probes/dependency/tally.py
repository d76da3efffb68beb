"""Hits and counts of every head, direction and relation, added up batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus.treebanks.conllu import Sentence
from headscope.probes.cases import Cases, Text
from headscope.probes.dependency.gold import Gold, Possessive, gold_trees
from headscope.probes.dependency.offsets import OFFSETS, offset_hits
from headscope.probes.word_level import WordIndex
from headscope.statistics.significance import Replicates

DIRECTIONS = ("dep→head", "head→dep")


@dataclass(frozen=True)
class Chosen:
    """A head picked on one part of the data, to be scored with an interval on another."""

    layer: int
    head: int
    direction: int  # index in DIRECTIONS
    relations: frozenset[str] | None  # None: every word
    offset: int = 0  # index in OFFSETS: the baseline that was chosen beside it


def predictions(words: Tensor, present: Tensor) -> Tensor:
    """b h 2 w: for each word the word it attends to most, and the word that attends to it most.

    `words` is b h w w attention between words. A word cannot be its own governor; among equals
    the first wins.
    """
    absent = ~present
    words = words.masked_fill(absent[:, None, None, :], -1.0)  # below any weight: never chosen
    words.masked_fill_(absent[:, None, :, None], -1.0)
    words.diagonal(dim1=-2, dim2=-1).zero_()
    return torch.stack([words.argmax(dim=-1), words.argmax(dim=-2)], dim=2)


class DependencyTally:
    """The result of a pass over a treebank: counts, and replicates for chosen heads."""

    def __init__(
        self,
        layers: int,
        heads: int,
        chosen: Sequence[Chosen] = (),
        seed: int = 0,
        possessive: Possessive = "word",
    ) -> None:
        self.possessive: Possessive = possessive
        self.labels: dict[str, int] = {}
        self.hits = np.zeros((0, layers, heads, 2), np.int64)  # relation, layer, head, direction
        self.counts = np.zeros(0, np.int64)
        self.offset_hits = np.zeros((0, len(OFFSETS)), np.int64)
        self.dropped = 0  # words not counted because the tokenizer dropped them or their head
        self.sentences = 0
        self.chosen = tuple(chosen)
        self.bootstrap = Replicates(len(chosen), seed)
        self._gold: Gold | None = None
        self._present: Tensor | None = None
        self._chosen_hits = np.zeros((0, len(chosen)))
        self.cases = Cases()
        self._by_offset = np.zeros((len(OFFSETS), 0, 0), bool)  # offset b w

    def begin(self, items: Sequence[Sentence], index: WordIndex) -> None:
        """A batch is about to run through the model."""
        present = index.present.cpu().numpy()
        gold = gold_trees(items, present, self.labels, self.possessive)
        self._gold, self._present = gold, index.present
        self._grow(len(self.labels))
        counted = gold.counted.numpy()
        relations = gold.relations.numpy()
        self.counts += np.bincount(relations[counted], minlength=len(self.counts))
        self.sentences += len(items)
        self.dropped += sum(len(item) for item in items) - int(counted.sum())
        sizes = np.array([len(item) for item in items])
        right = offset_hits(gold.heads.numpy(), sizes) & counted
        for column, hits in enumerate(right):
            self.offset_hits[:, column] += np.bincount(relations[hits], minlength=len(self.counts))
        self._chosen_hits = np.zeros((len(items), len(self.chosen)))
        self._by_offset = right
        if self.chosen:
            self.cases.begin(Text(one.where, one.words, one.heads) for one in items)

    def layer(self, number: int, words: Tensor) -> None:
        """Take one layer's word-level attention, b h w w."""
        gold, present = self._gold, self._present
        assert gold is not None and present is not None
        predicted = predictions(words, present).cpu()  # b h 2 w
        speaker = gold.speaker[:, None, None].expand_as(predicted)
        right = predicted.gather(3, speaker) == gold.heads[:, None, None]
        right &= gold.counted[:, None, None]
        flat = right.permute(0, 3, 1, 2).flatten(0, 1)  # b·w h 2
        sums = torch.zeros((len(self.counts), *flat.shape[1:]), dtype=torch.int32)
        sums.index_add_(0, gold.relations.flatten(), flat.to(torch.int32))
        self.hits[:, number] += sums.numpy()
        for column, pick in enumerate(self.chosen):
            if pick.layer == number:
                kept = right[:, pick.head, pick.direction] & self._named(pick.relations)
                self._chosen_hits[:, column] = kept.sum(dim=1).numpy()
                if pick.relations is not None:  # each word is a case of its own relation alone
                    said = predicted[:, pick.head, pick.direction].gather(1, gold.speaker)
                    scored = (self._named(pick.relations) & gold.counted).numpy()
                    row, word = np.nonzero(scored)
                    by_offset = self._by_offset[pick.offset][row, word]
                    self.cases.add(column, row, word, said.numpy()[row, word], by_offset)

    def end(self, batch: int) -> None:
        """The batch has run; its replicates are added."""
        if self.chosen and self._gold is not None:
            counts = np.stack(
                [
                    (self._named(pick.relations) & self._gold.counted).sum(dim=1).numpy()
                    for pick in self.chosen
                ],
                axis=1,
            ).astype(np.float64)
            self.bootstrap.add_batch(batch, self._chosen_hits, counts)

    def state(self) -> dict[str, Any]:
        """Everything needed to resume."""
        return {
            "labels": np.array(list(self.labels), dtype=np.str_),
            "hits": self.hits,
            "counts": self.counts,
            "offset_hits": self.offset_hits,
            "dropped": np.array(self.dropped),
            "sentences": np.array(self.sentences),
            **self.cases.state(),
            **{f"boot_{name}": array for name, array in self.bootstrap.arrays().items()},
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        self.labels = {str(label): number for number, label in enumerate(state["labels"])}
        self.hits, self.counts = state["hits"], state["counts"]
        self.offset_hits = state["offset_hits"]
        self.dropped, self.sentences = int(state["dropped"]), int(state["sentences"])
        self.cases.restore(state)
        self.bootstrap.restore({name: state[f"boot_{name}"] for name in self.bootstrap.arrays()})

    def _named(self, relations: frozenset[str] | None) -> Tensor:
        assert self._gold is not None
        if relations is None:  # all words
            return torch.ones_like(self._gold.counted)
        numbers = [number for label, number in self.labels.items() if label in relations]
        return torch.isin(self._gold.relations, torch.tensor(numbers, dtype=torch.int64))

    def _grow(self, size: int) -> None:
        missing = size - len(self.counts)
        if missing > 0:
            self.counts = np.pad(self.counts, (0, missing))
            self.hits = np.pad(self.hits, ((0, missing), (0, 0), (0, 0), (0, 0)))
            self.offset_hits = np.pad(self.offset_hits, ((0, missing), (0, 0)))
