"""Where the time goes from text to table on a GPU, part by part.

    PYTHONPATH=src python benchmarks/text_parts.py [--out FILE] [--profile] [--device cpu --small]

The model of `text_gpu.py` on pairs of 128 tokens. Printed: what starting a process that prepares
text costs; how fast one process prepares it, stage by stage; what a batch takes on the device
(forward alone, survey, the kernels by name) and what Python takes for it (a batch so small that the
device waits for Python). `--profile` adds where Python spends it.
"""

from __future__ import annotations

import argparse
import cProfile
import io
import json
import pickle
import pstats
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from text_gpu import bert, made_up, settled

import headscope as hs
from headscope.corpus.text.batches import batches
from headscope.corpus.text.sharding import shards_of
from headscope.corpus.text.shards import Shard
from headscope.statistics.survey.feeding.desk import Desk
from headscope.statistics.survey.feeding.fed import helpers
from headscope.statistics.survey.feeding.helpers import Helpers
from headscope.statistics.survey.feeding.laid_out import laid_out
from headscope.statistics.survey.feeding.packed import Packed
from headscope.statistics.survey.options import Options
from headscope.statistics.survey.portion import measure_batches
from headscope.statistics.survey.run import Source, _settings
from headscope.statistics.survey.selection import measurable

IMPORTS = {
    "python alone": "pass",
    "torch": "import torch",
    "a tokenizer's class": "from transformers import PreTrainedTokenizerFast",
    "what prepares text": "import headscope.statistics.survey.feeding.helpers",
}


def seconds(work: Callable[[], Any]) -> float:
    settled()
    start = time.perf_counter()
    work()
    settled()
    return time.perf_counter() - start


def starting(desk: Desk) -> dict[str, float]:
    found = {
        f"importing {name}, s": seconds(partial(subprocess.run, [sys.executable, "-c", code]))
        for name, code in IMPORTS.items()
    }  # fmt: skip
    count = max(1, helpers())
    little = Shard(0, "", "document 1", size=1, items=["A little text."])
    for again in ("", ", again"):
        start = time.perf_counter()
        pool = Helpers(desk, count)
        for task in [pool.submit(worker, "prepare", little, 0) for worker in range(count)]:
            pool.result(task)
        found[f"{count} processes, s{again}"] = time.perf_counter() - start
        pool.close()
    return found


def preparing(desk: Desk, shards: list[Shard]) -> dict[str, float]:
    """Tokens a second of one process in each stage, on shards whose words it has met."""
    for shard in shards[:4]:
        list(desk.prepared(shard, 0))
    shards = shards[4:8] or shards
    cut, portions = _timed(
        lambda: [p for s in shards for p in desk.cutter.of_shard(s, desk.tokenizer).portions()]
    )
    batched, texts = _timed(
        lambda: [
            batch
            for portion in portions
            for batch in batches(
                desk, portion, most_tokens=desk.most_tokens, longest=desk.longest
            )
        ]
    )  # fmt: skip
    packing, packed = _timed(lambda: [Packed.of(batch) for batch in texts])
    tokens = sum(one.read.tokens for one in packed)
    sending, wire = _timed(lambda: [pickle.dumps(one, 5) for one in packed])
    taking, _ = _timed(lambda: [pickle.loads(one) for one in wire])
    stages = {"cutting": cut, "tokenising": batched, "packing": packing, "pickling": sending}
    found = {f"{name}, tokens/s": tokens / taken for name, taken in stages.items()}
    found["all of it, tokens/s"] = tokens / sum(stages.values())
    found["unpickling, tokens/s"] = tokens / taking
    found["bytes a token"] = sum(map(len, wire)) / tokens
    return found


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def on_device(scope: hs.Scope, pairs: list[Any], most_tokens: int, count: int) -> dict[str, Any]:
    """A stream of batches of one size through the bare model and through a survey."""
    settings, prepared = _ready(scope, pairs, most_tokens, count)
    inputs = [laid_out(scope, one)[0] for one in prepared]

    def plain() -> None:
        with torch.no_grad():
            for one in inputs:
                scope.model(**one)

    def laid() -> None:
        for one in prepared:
            laid_out(scope, one)

    def surveyed() -> None:
        measure_batches(scope, prepared, settings)

    for work in (plain, surveyed):
        work()
    rounds = [(seconds(plain), seconds(surveyed)) for _ in range(3)]
    each = 1e3 / len(prepared)
    bare, whole = sorted(rounds, key=lambda pair: pair[1] / pair[0])[1]
    return {
        "forward, ms a batch": bare * each,
        "survey, ms a batch": whole * each,
        "survey of the forward": whole / bare,
        "laying out, ms a batch": seconds(laid) * each,
        "kernels": _kernels(surveyed, len(prepared)) if scope.device.type == "cuda" else {},
        "kernels of the forward": _kernels(plain, len(prepared), 1)
        if scope.device.type == "cuda" else {},
    }  # fmt: skip


def _ready(scope: hs.Scope, pairs: list[Any], most: int, count: int) -> tuple[Any, list[Packed]]:
    chosen = Options(max_tokens=128, batch_tokens=most)
    measured, _ = measurable(scope, None)
    settings = _settings(scope, chosen, measured)
    corpus = pairs[: count * most // 128]
    cutter = Source(scope, corpus, chosen, settings, None).cutter
    desk = Desk.of(scope, settings, cutter)
    whole = Shard(0, "", "document 1", size=len(corpus), items=corpus)
    return settings, [b for p in desk.prepared(whole, 0) for b in p.batches][:count]


def _kernels(work: Callable[[], None], batches: int, top: int = 14) -> dict[str, float]:
    """Milliseconds a batch that the device computes, and the kernels that take most of it."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        work()
        settled()
    every = [
        (e.self_device_time_total / 1e3 / batches, e.count, e.key) for e in seen.key_averages()
    ]
    found = {"all": sum(one[0] for one in every)}
    for taken, times, name in sorted(every, reverse=True)[:top]:
        found[f"{name[:60]} ×{times / batches:.0f}"] = taken
    return found


def profiled(scope: hs.Scope, pairs: list[Any], most_tokens: int) -> str:
    settings, prepared = _ready(scope, pairs, most_tokens, 40)
    measure_batches(scope, prepared, settings)
    watch = cProfile.Profile()
    watch.runcall(measure_batches, scope, prepared, settings)
    text = io.StringIO()
    pstats.Stats(watch, stream=text).sort_stats("tottime").print_stats(45)
    pstats.Stats(watch, stream=text).sort_stats("cumulative").print_stats(45)
    return text.getvalue()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", type=Path)
    options.add_argument("--profile", type=Path)
    options.add_argument("--device", default="cuda")
    options.add_argument("--small", action="store_true")
    asked = options.parse_args()
    scope = bert(asked.device, asked.small)
    pairs = made_up(scope.tokenizer, 512 if asked.small else 8_192, 128) * (5 if asked.small else 3)
    settings, _ = _ready(scope, pairs, 2_048, 1)
    cutter = Source(scope, pairs, Options(max_tokens=128), settings, None).cutter
    shards = shards_of(pairs, cutter.reader) or []
    desk = Desk.of(scope, settings, cutter)
    found: dict[str, Any] = {"torch": torch.__version__, "device": asked.device}

    def told(name: str, row: dict[str, Any]) -> None:
        found[name] = row
        print(name, json.dumps(row, indent=1), flush=True)
        if asked.out is not None:
            asked.out.write_text(json.dumps(found, indent=1) + "\n")

    told("preparing text in one process", preparing(desk, shards))
    for size in (1_024, 4_096) if asked.small else (1_024, 32_768, 131_072):
        count = 4 if asked.small else max(12, min(60, 2**20 // size))
        told(f"batches of {size:,} tokens", on_device(scope, pairs, size, count))
    told("starting", starting(desk))
    if asked.profile is not None:
        asked.profile.write_text(profiled(scope, pairs, 1_024))


if __name__ == "__main__":
    main()
