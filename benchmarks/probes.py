"""What probes cost beside the forward passes they need.

    python benchmarks/probes.py [TREEBANK] [--model MODEL] [--limit N]

Prints three ratios, each measured in one run: all heads, both directions and all relations over a
treebank (budget 1.5 × the forward passes alone); training the attention-only probe on it (budget
3 ×); and peak memory on the whole treebank beside an eighth of it (budget: flat). TREEBANK is EWT's
dev part where the development data is beside the checkout, else the shipped sample.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

import headscope as hs
from headscope.corpus.bad_data import Faults
from headscope.corpus.sample import STORIES
from headscope.corpus.treebanks.treebank import Treebank
from headscope.probes.all_heads.maps import store_maps
from headscope.probes.all_heads.networks import AttentionProbe
from headscope.probes.all_heads.training import fit
from headscope.probes.dependency.tally import DependencyTally
from headscope.probes.passes import run_pass, self_attention, word_batches

EWT = Path(__file__).parents[2] / "shared/data/ud_english_ewt/en_ewt-ud-dev.conllu"


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("treebank", nargs="?", default=str(EWT if EWT.exists() else STORIES))
    options.add_argument("--model")
    options.add_argument("--limit", type=int)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--peak", action="store_true", help="only print this run's peak memory")
    given = options.parse_args()
    torch.set_num_threads(given.threads)
    scope = hs.load(given.model)
    bank = Treebank(given.treebank, limit=given.limit)
    if given.peak:
        probe(scope, bank)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
        return
    size = sum(1 for _ in bank)
    print(f"{scope.name}, {Path(given.treebank).name}: {size} sentences, {given.threads} thread(s)")
    # before this process grows: another is charged with the size of the one that starts it
    small, whole = (peak(given, limit) for limit in (size // 8, size))
    alone(scope, Treebank(given.treebank, limit=64))  # warm
    # forward passes are timed before and after, so that a busy machine weighs on both sides
    before = alone(scope, bank)
    probing, training = probe(scope, bank), train(scope, bank)
    forward = (before + alone(scope, bank)) / 2
    print(f"forward passes alone: {forward:.2f} s of processor time")
    print(f"dependency probe: {probing / forward:.2f} × (budget 1.5)")
    print(f"attention-only probe, maps and training: {training / forward:.2f} × (budget 3)")
    print(f"peak memory: {small} MiB on {size // 8} sentences, {whole} MiB on {size}: "
          f"{whole / small:.2f} ×")  # fmt: skip


def alone(scope: hs.Scope, bank: Treebank) -> float:
    """The forward passes only: reading and encoding are not counted."""
    spent = 0.0
    for batch in word_batches(scope, bank, Faults()):
        start = time.process_time()
        scope.forward(batch.batch)
        spent += time.process_time() - start
    return spent


def probe(scope: hs.Scope, bank: Treebank) -> float:
    """Everything: reading, encoding, forward passes, word level, both directions, counting."""
    kind = self_attention(scope)
    start = time.process_time()
    tally = DependencyTally(scope.layers[kind], scope.heads[kind])
    run_pass(scope, bank, tally, Faults())
    return time.process_time() - start


def train(scope: hs.Scope, bank: Treebank) -> float:
    """Everything: one pass that keeps the maps, then epochs until the score stops rising."""
    kind = self_attention(scope)
    start = time.process_time()
    with store_maps(scope, bank, Faults()) as store:
        fit(AttentionProbe(scope.layers[kind] * scope.heads[kind]), store, store)
    return time.process_time() - start


def peak(given: Any, limit: int) -> int:
    command = [sys.executable, __file__, given.treebank, "--peak", "--limit", str(limit)]
    command += ["--model", given.model] if given.model else []
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(ran.stdout.split()[-1])


if __name__ == "__main__":
    main()
