"""Ray on one machine: the same table from any number of workers, also when one is killed.

    python benchmarks/ray_workers.py [--shards 64] [--kills 10] [--workers 1 2 4] [--out FILE]

A small BERT with random weights is surveyed over a folder of files, once in this process, then by
Ray's workers, each with one thread. Throughput is counted from the first sums that arrive to the
last, so that starting processes is left out; that is stated apart. Then the survey is repeated with
the most workers, and each time one of them, drawn at random, is ended (SIGKILL) at a random moment:
once a share of the batches, drawn at random up to nine tenths, has been measured. Every table must
be that of this process to the last bit, and somebody must have been ended, or the script fails.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")

import numpy as np
import pandas as pd
import torch
from transformers import AutoTokenizer, BertConfig, BertModel

import headscope as hs
from headscope.models.open import BUNDLED
from headscope.statistics.statistic import Statistic

SHAPE = {"hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4}


class Witness(Statistic):
    """The share of attention on oneself, and a letter for each batch that a process measured."""

    name = "witness"
    unit = "share"
    feature = "self"
    folder = ""

    def measure(self, rows: Any, grid: Any) -> Any:
        with (Path(self.folder) / str(os.getpid())).open("a") as file:
            file.write(".")
        return rows.mean("self")


def small_bert() -> hs.Scope:
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(BUNDLED)
    configuration = BertConfig(vocab_size=len(tokenizer), intermediate_size=128, **SHAPE)
    return hs.Scope(BertModel(configuration).eval(), tokenizer, "a small BERT")


def write_shards(folder: Path, tokenizer: Any, count: int, documents: int) -> None:
    """Files of texts of 20 to 120 words, no two files of one length."""
    words = np.array([word for word in tokenizer.get_vocab() if word.isalpha()])
    chance = np.random.default_rng(0)
    for number in range(count):
        sizes = chance.integers(20, 120, documents + number % 7)
        lines = [" ".join(chance.choice(words, size)) for size in sizes]
        (folder / f"{number:03}.txt").write_text("\n".join(lines) + "\n")


class Watch:
    """When a run began, when its first and its last sums came, and what they counted."""

    def __init__(self) -> None:
        self.begun = time.perf_counter()
        self.seen: list[tuple[float, int]] = []

    def __call__(self, progress: Any) -> None:
        self.seen.append((time.perf_counter(), progress.tokens))

    @property
    def rate(self) -> float:
        (first, before), (last, after) = self.seen[0], self.seen[-1]
        return (after - before) / max(last - first, 1e-9)

    @property
    def startup(self) -> float:
        return self.seen[0][0] - self.begun


def surveyed(scope: hs.Scope, corpus: Path, seen: Path, **options: Any) -> tuple[Any, Watch]:
    witness, watch = Witness(), Watch()
    witness.folder = str(seen)
    chosen = ["entropy", "previous_word", "cls", "distance", witness]
    options = {"chunk": 16, "interval": 0.9, **options}
    return hs.survey(scope, corpus, chosen, progress=watch, **options), watch


def measured(folder: Path) -> int:
    """Batches, by whomever."""
    return sum(file.stat().st_size for file in folder.iterdir())


def kill_one(folder: Path, batches: int, seed: int, ended: list[int]) -> None:
    """Wait until some of the batches are measured and end one who has worked."""
    chance = random.Random(seed)
    moment = max(1, int(0.9 * chance.random() * batches))
    while measured(folder) < moment:
        time.sleep(0.002)
    number = int(chance.choice(sorted(folder.iterdir())).name)
    os.kill(number, signal.SIGKILL)
    ended.append(number)


def same(found: hs.Survey, here: hs.Survey) -> None:
    pd.testing.assert_frame_equal(found.table, here.table, check_exact=True)
    for name in ("segments", "documents", "tokens", "left out", "corpus"):
        assert found.metadata[name] == here.metadata[name], name


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--shards", type=int, default=64)
    options.add_argument("--documents", type=int, default=24, help="of a shard, about")
    options.add_argument("--kills", type=int, default=10)
    options.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    options.add_argument("--out", type=Path)
    asked = options.parse_args()
    torch.set_num_threads(1)
    import ray

    ray.init(num_cpus=2, object_store_memory=100 * 2**20, include_dashboard=False,
             log_to_driver=False)  # fmt: skip
    scope = small_bert()
    found: dict[str, Any] = {"shards": asked.shards, "cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as temporary:
        corpus = Path(temporary) / "corpus"
        corpus.mkdir()
        write_shards(corpus, scope.tokenizer, asked.shards, asked.documents)

        def fresh(name: str) -> Path:
            folder = Path(temporary) / name
            folder.mkdir()
            return folder

        here, watch = surveyed(scope, corpus, fresh("here"))
        found |= {"tokens": here.metadata["tokens"], "local, tokens a second": watch.rate}
        told(found)
        batches = measured(Path(temporary) / "here")
        for workers in asked.workers:
            there, watch = surveyed(scope, corpus, fresh(f"w{workers}"), engine="ray",
                                    workers=workers)  # fmt: skip
            same(there, here)
            found[f"{workers} workers, tokens a second"] = watch.rate
            found[f"{workers} workers, s to the first sums"] = watch.startup
            told(found)
        most = max(asked.workers)
        started_again, ended = 0, list[int]()
        for number in range(asked.kills):
            seen = fresh(f"killed{number}")
            killer = threading.Thread(
                target=kill_one, args=(seen, batches, number, ended), daemon=True
            )
            killer.start()
            there, watch = surveyed(scope, corpus, seen, engine="ray", workers=most)
            killer.join()
            assert len(ended) == number + 1, "nobody was there to be ended"
            same(there, here)
            started_again += len(list(seen.iterdir())) > most
            found[f"same table with one of {most} workers killed"] = number + 1
            found["of them with a new worker that measured"] = started_again
            told(found)
    ray.shutdown()
    if asked.out is not None:
        asked.out.write_text(json.dumps(found, indent=1) + "\n")


def told(found: dict[str, Any]) -> None:
    name, value = list(found.items())[-1]
    print(f"{name:<50} {value:>12,.6g}", flush=True)


if __name__ == "__main__":
    main()
