"""What patching has found so far, pair by pair: kept by a run and put in the pairs' order."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from headscope.circuits.patching.result import Floats
from headscope.runs import State

ENDS = "ends"  # the metric on the clean and on the corrupted prompts


class Found:
    """Columns are pairs, in the order in which their batches ran."""

    def __init__(self, names: Collection[str], parts: int, state: State | None) -> None:
        self.done = 0  # batches
        self._order: list[int] = []
        self._rows: dict[str, Floats] = {name: np.zeros((parts, 0)) for name in names}
        self._rows[ENDS] = np.zeros((2, 0))
        if state is not None:
            self.done, self._order = state.position["batches"], state.position["pairs"]
            self._rows = dict(state.arrays)

    def add(self, rows: dict[str, Floats], pairs: Collection[int]) -> None:
        """One batch: e b per measure and 2 b of ends."""
        self._rows = {
            name: np.concatenate([kept, rows[name]], axis=1) for name, kept in self._rows.items()
        }
        self._order = [*self._order, *pairs]
        self.done += 1

    def state(self) -> State:
        return State({"batches": self.done, "pairs": self._order}, self._rows)

    def in_order(self) -> tuple[dict[str, Floats], Floats, Floats]:
        """e n per measure, and the metric on clean and corrupted prompts (n each)."""
        back = np.argsort(self._order)
        rows = {name: kept[:, back] for name, kept in self._rows.items()}
        clean, corrupted = rows.pop(ENDS)
        return rows, clean, corrupted
