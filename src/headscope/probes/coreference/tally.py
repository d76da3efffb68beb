"""Hits of every head at finding an antecedent, by kind of mention and set of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headscope.probes.cases import Cases, Text
from headscope.probes.coreference.cases import KINDS, Window
from headscope.probes.coreference.rules import RULES
from headscope.probes.word_level import WordIndex
from headscope.statistics.significance import Replicates

CANDIDATES = ("all words", "mentions")  # the paper does not say which it used: both are scored
DIRECTIONS = ("mention→antecedent", "antecedent→mention")


@dataclass(frozen=True)
class ChosenHead:
    """A head to be scored with an interval."""

    candidates: int  # index in CANDIDATES
    direction: int
    layer: int
    head: int
    kind: int | None = None  # index in KINDS: the mentions it was chosen for; None is all
    rule: int | None = None  # index in RULES: the baseline of its cases; None keeps no cases


class CoreferenceTally:
    """Counts for all heads; replicates for the chosen ones and for the rules."""

    def __init__(self, layers: int, heads: int, chosen: Sequence[ChosenHead] = (), seed: int = 0):
        self.hits = np.zeros((len(KINDS), 2, 2, layers, heads), np.int64)  # kind set direction l h
        self.counts = np.zeros(len(KINDS), np.int64)
        self.rules = np.zeros((len(KINDS), len(RULES)), np.int64)
        self.documents = 0
        self.dropped = 0  # mentions the tokenizer left no trace of
        self.chosen = tuple(chosen)
        self.bootstrap = Replicates((len(chosen) + len(RULES)) * (1 + len(KINDS)), seed)
        self._batch: _Cases | None = None
        self._chosen_hits = torch.zeros(0)
        self.cases = Cases()

    def begin(self, items: Sequence[Window], index: WordIndex) -> None:
        batch = _cases(items, index.present)
        self._batch = batch
        self.documents += len(items)
        self.dropped += sum(len(item.cases) for item in items) - len(batch.row)
        self.counts += np.bincount(batch.kind.cpu().numpy(), minlength=len(KINDS))
        for kind in range(len(KINDS)):
            self.rules[kind] += batch.rules[batch.kind == kind].sum(dim=0).cpu().numpy()
        self._chosen_hits = torch.zeros(len(batch.row), len(self.chosen))
        if self.chosen:
            self.cases.begin(
                Text(one.where, one.words, [(c.anaphor, c.kind, c.antecedents) for c in one.cases])
                for one in items
            )

    def layer(self, number: int, words: Tensor) -> None:
        batch = self._batch
        assert batch is not None
        if not len(batch.row):
            return
        looks = words[batch.row, :, batch.anaphor]  # case h w: from the mention
        looked_at = words[batch.row, :, :, batch.anaphor]  # case h w: to the mention
        both = torch.stack([looks, looked_at], dim=1)  # case 2 h w
        for index, allowed in enumerate((batch.words, batch.mentions)):
            best = both.masked_fill(~allowed[:, None, None], -1.0).argmax(dim=-1)  # case 2 h
            right = batch.antecedents.gather(1, best.flatten(1)).view_as(best)
            sums = torch.zeros((len(KINDS), *right.shape[1:]), dtype=torch.int32)
            sums.index_add_(0, batch.kind.cpu(), right.to(torch.int32).cpu())
            self.hits[:, index, :, number] += sums.numpy()
            for column, pick in enumerate(self.chosen):
                if pick.layer == number and pick.candidates == index:
                    self._chosen_hits[:, column] = right[:, pick.direction, pick.head].float().cpu()
                    self._keep(column, pick, best[:, pick.direction, pick.head], batch)

    def _keep(self, column: int, pick: ChosenHead, choice: Tensor, batch: _Cases) -> None:
        """The cases of a pick in this batch: mentions of the kind it was chosen for."""
        if pick.rule is None:
            return
        everything = torch.ones_like(batch.kind, dtype=torch.bool)
        own = everything if pick.kind is None else batch.kind == pick.kind
        row, number, said, right = (
            one[own].cpu().numpy()
            for one in (batch.row, batch.number, choice, batch.rules[:, pick.rule])
        )
        self.cases.add(column, row, number, said, right)

    def end(self, batch: int) -> None:
        cases = self._batch
        if not self.chosen or cases is None:
            return
        right = torch.cat([self._chosen_hits, cases.rules.float().cpu()], dim=1).numpy()
        kind, row = cases.kind.cpu().numpy(), cases.row.cpu().numpy()
        groups = np.stack([np.ones(len(kind)), *((kind == k) for k in range(len(KINDS)))], axis=1)
        hits = np.zeros((cases.items, right.shape[1], groups.shape[1]))
        counts = np.zeros_like(hits)
        np.add.at(hits, row, right[:, :, None] * groups[:, None])
        np.add.at(counts, row, np.broadcast_to(groups[:, None], (len(kind), *hits.shape[1:])))
        self.bootstrap.add_batch(
            batch, hits.reshape(cases.items, -1), counts.reshape(cases.items, -1)
        )

    def state(self) -> dict[str, Any]:
        return {
            "hits": self.hits,
            "counts": self.counts,
            "rules": self.rules,
            "seen": np.array([self.documents, self.dropped]),
            **self.cases.state(),
            **{f"boot_{name}": array for name, array in self.bootstrap.arrays().items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.hits, self.counts, self.rules = state["hits"], state["counts"], state["rules"]
        self.documents, self.dropped = (int(number) for number in state["seen"])
        self.cases.restore(state)
        self.bootstrap.restore({name: state[f"boot_{name}"] for name in self.bootstrap.arrays()})


@dataclass(frozen=True)
class _Cases:
    """The cases of a batch side by side."""

    items: int
    row: Tensor  # case: which window
    number: Tensor  # case: which of the window's cases
    anaphor: Tensor  # case: which word
    kind: Tensor  # case: index in KINDS
    words: Tensor  # case w: every other word
    mentions: Tensor  # case w: heads of the mentions before
    antecedents: Tensor  # case w: the right answers
    rules: Tensor  # case rules


def _cases(items: Sequence[Window], present: Tensor) -> _Cases:
    there = present.cpu().numpy()
    found = [
        (row, number, case)
        for row, item in enumerate(items)
        for number, case in enumerate(item.cases)
        if there[row, case.anaphor] and there[row, list(case.antecedents)].any()
    ]
    shape = (len(found), there.shape[1])
    words, mentions, antecedents = (np.zeros(shape, bool) for _ in range(3))
    for number, (row, _, case) in enumerate(found):
        words[number] = there[row]
        words[number, case.anaphor] = False
        mentions[number, list(case.candidates)] = True
        antecedents[number, list(case.antecedents)] = True
        mentions[number] &= there[row]
    return _Cases(
        len(items),
        *(
            torch.from_numpy(np.asarray(array)).to(present.device)
            for array in (
                np.array([row for row, _, _ in found], np.int64),
                np.array([number for _, number, _ in found], np.int64),
                np.array([case.anaphor for _, _, case in found], np.int64),
                np.array([KINDS.index(case.kind) for _, _, case in found], np.int64),
                words,
                mentions,
                antecedents,
                np.array([case.rules for _, _, case in found], bool).reshape(-1, len(RULES)),
            )
        ),
    )
