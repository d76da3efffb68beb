"""What edge scores cost, and how well they rank edges, on ready tasks of a real model.

    python benchmarks/edges.py [MODEL] [--tasks names,agreement,years] [--pairs 8] [--exact EDGES]

Budget: the scores of all edges take at most 20 forwards a pair. Forwards of the same batches are
timed in between, turn by turn, so that both see the same load. The strongest edges are then patched
one by one: Spearman's rank correlation of score and exact effect, with an interval over edges
(at least 0.7 on names).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

import headscope as hs
from benchmarks._models import smollm2
from headscope.circuits.graph.gradients import edge_scores
from headscope.circuits.graph.stream import STREAMED, writes
from headscope.circuits.patching.batch import batches
from headscope.circuits.patching.pairs import Pairs, asked_of

STEPS = 4  # gradients, as `hs.circuits.edges` takes by default
COSTED = 24  # pairs whose scores are timed
PATCHED = {"names": 200, "agreement": 120, "years": 120}  # edges patched one by one


def cost(scope: hs.Scope, pairs: Pairs, turns: int = 3) -> float:
    """Forwards a pair: recording both runs and all gradients, over one plain forward."""
    found = STREAMED.of(scope)
    members = batches(scope, *asked_of(pairs, None, None, None))

    def forward() -> None:
        for batch in members:
            with torch.no_grad():
                scope.forward(batch.clean)

    def score() -> None:
        for batch in members:
            with torch.no_grad():
                clean, corrupted = (
                    writes(scope, found, one)[0] for one in (batch.clean, batch.corrupted)
                )
            edge_scores(scope, found, batch, (clean, corrupted), STEPS)

    forward()
    score()
    return statistics.median(seconds(score) / seconds(forward) for _ in range(turns))


def seconds(work: Callable[[], object]) -> float:
    clock = time.perf_counter()
    work()
    return time.perf_counter() - clock


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("model", nargs="?", help="SmolLM2-135M-Instruct if left out")
    options.add_argument("--tasks", default="names,agreement,years")
    options.add_argument("--pairs", type=int, default=8)
    options.add_argument("--exact", type=int, help="edges patched; as on the page if left out")
    options.add_argument("--turns", type=int, default=3)
    options.add_argument("--cost", action="store_true", help="only what scores cost")
    given = options.parse_args()
    scope = hs.load(given.model or smollm2())
    columns = "task, pairs, forwards a pair, Spearman, circuit, faithfulness, without it, random"
    print(f"| {columns.replace(', ', ' | ')} |")
    print(f"|{'---|' * 8}", flush=True)
    for name in given.tasks.split(","):
        fitting = hs.circuits.task(name, 8 * max(COSTED, given.pairs)).fitting(scope)
        timed, pairs = (Pairs(name, fitting.pairs[:count]) for count in (COSTED, given.pairs))
        spent = cost(scope, timed, given.turns)
        if given.cost:
            print(f"| {name} | {len(timed)} | {spent:.1f} |", flush=True)
            continue
        exact = PATCHED.get(name, 200) if given.exact is None else given.exact
        found: Any = hs.circuits.edges(scope, pairs, exact=exact, progress=False)
        low, high = found.agreement_interval
        cells = [
            name, len(pairs), f"{spent:.1f}", f"{found.agreement:.2f} [{low:.2f}, {high:.2f}]",
            f"{int(found.circuit.sum()):,} of {int(found.graph.possible.sum()):,}",
            f"{found.faithfulness:.2f}", f"{found.completeness:.2f}",
            f"{float(found.of_random.max()):.2f}",
        ]  # fmt: skip
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
