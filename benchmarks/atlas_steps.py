"""What each step of an atlas takes, of this process and of a GPU, beside the standard survey.

    python -m benchmarks.atlas_steps --device cuda --documents 8192 --rounds 3
    python -m benchmarks.atlas_steps --small --documents 256

BERT-base shape and pairs of 128 tokens as benchmarks/atlas.py, in bfloat16 on a GPU. Standard
survey and atlas are timed in turn on the clock, then one more atlas is made under torch's
profiler: every step's calls, its time on the clock in this process (what it waits for included)
and the time of the GPU's work it asked for; how long the GPU was busy during the pass and during
the end (work that ran side by side is counted once); then the GPU's dearest kernels. Some steps are
parts of others: all are in "batch read" but the last two, and "examples" has the three after it.
`--small` is for a processor: heads of four numbers, so that the model takes little, and keys looked
up as on a GPU; there a step's time is processor time, and work that a GPU would do is in it.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import inspect
import json
import statistics as stats
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch

from benchmarks.survey import bert_base, texts

STEPS: dict[str, tuple[str, str]] = {  # name: where, which function
    "batch read": ("headscope.surveys.loop:Measurer", "_forward"),
    "statistics measured": ("headscope.surveys.reducers:Statistics", "add"),
    "heads compared": ("headscope.surveys.reducers:Distances", "add"),
    "examples": ("headscope.atlas.collecting.examples:Examples", "add"),
    "strongest ranked": ("headscope.atlas.collecting.examples:Examples", "_rank_strongest"),
    "heaviest keys": ("headscope.atlas.collecting.examples", "heaviest_keys"),
    "texts kept": ("headscope.atlas.collecting.examples:Examples", "_keep_texts"),
    "counts": ("headscope.atlas.collecting.counts:Counts", "add"),
    "portions merged": ("headscope.atlas.collecting.reducer:AtlasReducer", "merge"),
    "the end": ("headscope.atlas.make", "atlas_of"),
}
END = object()  # of a generator


class Steps:
    """Wraps the steps' functions while it is entered."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._before: list[tuple[Any, str, Any]] = []
        self.calls: dict[str, list[float]] = {name: [] for name in STEPS}

    def __enter__(self) -> Steps:
        for name, (place, attribute) in STEPS.items():
            module, _, owner = place.partition(":")
            holder: Any = __import__(module, fromlist=["_"])
            holder = getattr(holder, owner) if owner else holder
            plain = getattr(holder, attribute)
            self._before.append((holder, attribute, plain))
            setattr(holder, attribute, self._timed(name, plain))
        return self

    def __exit__(self, *_: object) -> None:
        for holder, attribute, plain in self._before:
            setattr(holder, attribute, plain)

    def _timed(self, name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isgeneratorfunction(plain):
            return lambda *given, **named: self._each(name, plain(*given, **named))

        @functools.wraps(plain)
        def timed(*given: Any, **named: Any) -> Any:
            started = self._clock()
            with torch.profiler.record_function(name):
                found = plain(*given, **named)
            self.calls[name].append(self._clock() - started)
            return found

        return timed

    def _each(self, name: str, made: Iterator[Any]) -> Iterator[Any]:
        """What a generator makes; every item is a call."""
        following = self._timed(name, lambda: next(made, END))
        while (item := following()) is not END:
            yield item


def small():
    """The same shape with heads of four numbers."""
    import transformers

    whole = transformers.BertConfig
    transformers.BertConfig = functools.partial(whole, hidden_size=48, intermediate_size=48)
    try:
        return bert_base()
    finally:
        transformers.BertConfig = whole


def profiled(work: Callable[[], Any], on_gpu: bool, clock: Callable[[], float]) -> dict[str, Any]:
    """Calls and times of every step; with a GPU what it did for them, and its dearest work."""
    kinds = torch.profiler.ProfilerActivity
    profile = torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA]) if on_gpu else None
    with Steps(clock) as steps, profile or contextlib.nullcontext():
        started = clock()
        work()
        whole = clock() - started
    rows = {
        name: {"calls": len(taken), "here, ms": round(1000 * sum(taken), 1)}
        for name, taken in steps.calls.items()
    }
    found: dict[str, Any] = {"whole, ms": round(1000 * whole, 1), "steps": rows}
    if profile is not None:
        found |= of_gpu(profile.events(), rows)
    return found


def of_gpu(events: Any, rows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What a GPU did, by step (into `rows`) and altogether."""
    asked, spans, kernels = dict.fromkeys(STEPS, 0.0), [], Counter[str]()
    end = float("inf")
    for event in events:
        if event.device_type == torch.autograd.DeviceType.CPU:
            if event.name in asked:
                asked[event.name] += event.device_time_total / 1000
            if event.name == "the end":
                end = min(end, event.time_range.start)
        elif event.name not in STEPS:  # a step is also shown as a span of the GPU's time
            spans.append((event.time_range.start, event.time_range.end))
            kernels[event.name[:90]] += event.time_range.end - event.time_range.start
    for name, taken in asked.items():
        rows[name]["GPU, ms"] = round(taken, 1)
    return {
        "GPU busy in the pass, ms": busy([(a, min(b, end)) for a, b in spans if a < end]),
        "GPU busy at the end, ms": busy([(max(a, end), b) for a, b in spans if b > end]),
        "GPU, all kernels, ms": round(sum(kernels.values()) / 1000, 1),
        "GPU's dearest, ms": {k: round(v / 1000, 1) for k, v in kernels.most_common(15)},
    }


def busy(spans: list[tuple[float, float]]) -> float:
    """Milliseconds within any of the spans, which are in microseconds."""
    taken, until = 0.0, -float("inf")
    for start, stop in sorted(spans):
        taken += max(0.0, stop - max(start, until))
        until = max(until, stop)
    return round(taken / 1000, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--documents", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--small", action="store_true")
    chosen = parser.parse_args()
    import headscope as hs

    on_gpu, options = chosen.device == "cuda", {"progress": False}
    scope = small() if chosen.small else bert_base()
    scope.model.to(chosen.device, torch.bfloat16 if on_gpu else torch.float32)
    if not on_gpu:
        from headscope.statistics.features.grid import Grid

        torch.set_num_threads(1)
        Grid.on_gpu = True  # pyright: ignore
        options |= {"chunk": 2048, "batch_tokens": 32_768}
    clock = time.perf_counter if on_gpu else time.process_time
    corpus = texts(chosen.documents)
    works = {
        "standard survey": lambda some: hs.survey(scope, some, **options),
        "atlas": lambda some: hs.atlas(scope, some, **options),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(chosen.rounds + 1):
        for name, work in works.items():
            started = clock()
            work(corpus if turn else corpus[:256])
            times[name] += [clock() - started] if turn else []
            print(f"{name}: {clock() - started:.2f} s", file=sys.stderr, flush=True)
    found = {f"{name}, s": round(stats.median(taken), 3) for name, taken in times.items() if taken}
    found |= profiled(lambda: works["atlas"](corpus), on_gpu, clock)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
