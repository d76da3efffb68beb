"""The induction bump: does a head become an induction head while the loss bends?

    python -m training.bump -o bump/ --figure docs/images/induction-bump.svg

Trains `training.decoder` on several seeds, measures all checkpoints, and compares the change point
of the head whose induction score rises most with the steps in which the loss falls.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import headscope as hs
from headscope.figures.curves import Panel, curves
from training.decoder import train

Floats = NDArray[np.float64]
BEGUN, DONE = 0.1, 0.9  # of the way from the first loss to the last: where the bend lies


@dataclass(frozen=True)
class Bump:
    """One seed: its loss, its induction head, and when each changed."""

    seed: int
    steps: Floats
    repeated: Floats  # the loss of tokens that the first half tells, by step
    head: tuple[int, int]
    induction: Floats  # the head's score, by step
    bend: tuple[float, float]
    change: float
    interval: tuple[float, float]
    rises: tuple[float, float]  # the steps between which the head's score rises
    label: float  # the step from which the head is labelled

    @property
    def inside(self) -> bool:
        return self.bend[0] <= self.change <= self.bend[1]


def bend(steps: Floats, losses: Floats) -> tuple[float, float]:
    """Between which steps the loss goes the way from a tenth to nine tenths of its fall."""
    fallen = (losses[0] - losses) / (losses[0] - losses[-1])
    begun = int(np.flatnonzero(fallen < BEGUN)[-1])
    done = int(np.flatnonzero(fallen > DONE)[0])
    return float(steps[begun]), float(steps[done])


def bump(seed: int, folder: Path) -> Bump:
    """Train where it was not, measure and compare."""
    kept = folder / f"decoder-{seed}"
    if not (kept / "losses.jsonl").is_file():
        train(seed, kept)
    rows = [json.loads(line) for line in (kept / "losses.jsonl").read_text("utf-8").splitlines()]
    output = folder / f"decoder-{seed}.parquet"
    if output.is_file():
        found = hs.open(output)
    else:
        found = hs.over_checkpoints(
            kept, kept / "corpus.jsonl", statistics=["entropy"], output=output, progress=False
        )
    steps = np.array([row["step"] for row in rows], float)
    repeated = np.array([row["repeated"] for row in rows])
    most = found.changes("induction").astype({"begins": float, "ends": float}).iloc[0]
    head = (int(most["layer"]), int(most["head"]))
    named = found.appears()
    mine = named[
        (named["layer"] == head[0]) & (named["head"] == head[1]) & (named["label"] == "induction")
    ]
    return Bump(
        seed, steps, repeated, head, found.series("induction", *head).to_numpy(float),
        bend(steps, repeated), float(most["step"]), (float(most["low"]), float(most["high"])),
        (float(most["begins"]), float(most["ends"])),
        float(mine["step"].iloc[0]) if len(mine) else float("nan"),
    )  # fmt: skip


def table(found: Sequence[Bump]) -> str:
    lines = [
        "| seed | the loss bends, steps | head | its change point, 95 % interval | rises, steps | "
        "labelled from | "
        "induction before, after | inside |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in found:
        split = one.steps < one.change
        levels = one.induction[split].mean(), one.induction[~split].mean()
        lines.append(
            f"| {one.seed} | {one.bend[0]:.0f} to {one.bend[1]:.0f} | {one.head[0]}-{one.head[1]} |"
            f" {one.change:.0f} ({one.interval[0]:.0f} to {one.interval[1]:.0f}) | "
            f"{one.rises[0]:.0f} to {one.rises[1]:.0f} | "
            f"{one.label:.0f} | {levels[0]:.2f}, {levels[1]:.2f} | "
            f"{'yes' if one.inside else 'no'} |"
        )
    return "\n".join(lines)


def drawn(found: Sequence[Bump]) -> Figure:
    """The loss and the induction score over the steps, a line per seed, change points upright."""
    marks = [one.change for one in found]
    return curves(
        [
            Panel(
                "loss of repeated tokens",
                {f"seed {one.seed}": (one.steps, one.repeated) for one in found},
                marks=marks,
            ),
            Panel(
                "induction score",
                {f"seed {one.seed}": (one.steps, one.induction) for one in found},
                marks=marks,
            ),
        ],
        "step",
        title="Induction heads form while the loss bends",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--figure", type=Path)
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    found = [bump(seed, given.output) for seed in range(given.seeds)]
    print(table(found))
    if given.figure is not None:
        drawn(found).savefig(given.figure)


if __name__ == "__main__":
    main()
