"""Opening the bundled model against `BertModel.from_pretrained` on the same folder.

    python benchmarks/load.py [--rounds 15]

All ways are timed in turn in one process, after a round that is not counted. Two ratios: of the
shortest times on the clock, which a busy machine stretches, and of the median processor times.
`hs.load()` gives more than what it is held against: single precision, the masked-word and
next-sentence heads, and the tokenizer. Budget: 1.3.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from transformers import AutoModelForPreTraining, AutoTokenizer, BertModel
from transformers.utils import logging

import headscope as hs
from headscope.models.open import BUNDLED

BUDGET = 1.3
WAYS: dict[str, Callable[[], Any]] = {
    "BertModel.from_pretrained": lambda: BertModel.from_pretrained(BUNDLED),
    "hs.load()": hs.load,
    "AutoModelForPreTraining and AutoTokenizer": lambda: (
        AutoModelForPreTraining.from_pretrained(BUNDLED, dtype=torch.float32),
        AutoTokenizer.from_pretrained(BUNDLED),
    ),
}


def measure(rounds: int) -> dict[str, tuple[float, float]]:
    """For each way to open the folder: shortest seconds on the clock, median of the processor."""
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in WAYS}
    for round_number in range(rounds + 1):
        for name, work in WAYS.items():
            clock, processor = time.perf_counter(), time.process_time()
            work()
            took = time.perf_counter() - clock, time.process_time() - processor
            if round_number:
                seen[name].append(took)
    return {
        name: (min(c for c, _ in times), statistics.median(p for _, p in times))
        for name, times in seen.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    torch.set_num_threads(1)
    found = measure(options.rounds)
    clock, processor = found["BertModel.from_pretrained"]
    for name, (wall, cpu) in found.items():
        print(
            f"{name:<42} clock {wall * 1e3:5.0f} ms {wall / clock:5.2f}×"
            f"   processor {cpu * 1e3:5.0f} ms {cpu / processor:5.2f}×"
        )
    ratio = found["hs.load()"][0] / clock
    print(f"hs.load() takes {ratio:.2f}× (budget {BUDGET})")


if __name__ == "__main__":
    main()
