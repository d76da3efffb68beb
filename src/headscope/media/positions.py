"""Positions: what each model position is, and its region in a picture or a sound."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray


class PositionKind(IntEnum):
    """The kinds of model positions."""

    WORD = 0
    SPECIAL = 1
    PATCH = 2
    FRAME = 3
    CLASS = 4
    REGISTER = 5
    QUERY = 6  # a learned query, without a region


@dataclass(frozen=True, eq=False)
class Positions:
    """One entry per position; positions without a region have NaN for rectangle and time."""

    kinds: NDArray[np.int8]  # PositionKind
    rectangles: NDArray[np.float32]  # n × 4: left, top, right, bottom in the original picture
    seconds: NDArray[np.float32]  # n × 2: from, to
    pictures: NDArray[np.int16]  # which picture, -1 for none
    grid: NDArray[np.int32]  # n × 2: row and column, -1 for positions outside a grid

    def __len__(self) -> int:
        return len(self.kinds)

    @staticmethod
    def nowhere(kinds: NDArray[np.int8]) -> Positions:
        """Positions of these kinds without a region in a picture or a sound."""
        n = len(kinds)
        return Positions(
            kinds.astype(np.int8),
            np.full((n, 4), np.nan, np.float32),
            np.full((n, 2), np.nan, np.float32),
            np.full(n, -1, np.int16),
            np.full((n, 2), -1, np.int32),
        )

    @staticmethod
    def patches(
        rectangles: NDArray[np.float32], grid: NDArray[np.int32], picture: int = 0
    ) -> Positions:
        n = len(rectangles)
        return Positions(
            np.full(n, PositionKind.PATCH, np.int8),
            rectangles.astype(np.float32),
            np.full((n, 2), np.nan, np.float32),
            np.full(n, picture, np.int16),
            grid.astype(np.int32),
        )

    @staticmethod
    def frames(seconds: NDArray[np.float32]) -> Positions:
        made = Positions.nowhere(np.full(len(seconds), PositionKind.FRAME, np.int8))
        return Positions(
            made.kinds, made.rectangles, seconds.astype(np.float32), made.pictures, made.grid
        )

    @staticmethod
    def joined(*parts: Positions) -> Positions:
        """One after another."""
        return Positions(
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("kinds", "rectangles", "seconds", "pictures", "grid")
            )
        )

    def chosen(self, which: NDArray[np.intp] | slice) -> Positions:
        """Some of the positions, in the given order."""
        return Positions(
            self.kinds[which],
            self.rectangles[which],
            self.seconds[which],
            self.pictures[which],
            self.grid[which],
        )

    def names(self) -> list[str]:
        """Names to show: `r3 c5` for a patch, `1.24 s` for a frame, brackets for the rest."""
        registers = queries = 0
        named: list[str] = []
        for kind, (row, column), (start, _) in zip(
            self.kinds, self.grid, self.seconds, strict=True
        ):
            if kind == PositionKind.PATCH:
                named.append(f"r{row} c{column}" if row >= 0 else "patch")
            elif kind == PositionKind.FRAME:
                named.append(f"{start:.2f} s")
            elif kind == PositionKind.CLASS:
                named.append("[CLS]")
            elif kind == PositionKind.REGISTER:
                registers += 1
                named.append(f"[REG{registers}]")
            elif kind == PositionKind.QUERY:
                queries += 1
                named.append(f"[QUERY{queries}]")
            else:
                named.append("[SPECIAL]" if kind == PositionKind.SPECIAL else "")
        return named
