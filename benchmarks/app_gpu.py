"""Long texts and large decoders on a GPU: every number of a text, and the app as its page asks it.

    python benchmarks/app_gpu.py [--small] [--profile] [--only numbers 1B 7B] [--out FILE]
        [--limit SECONDS_OF_ONE_ANSWER] [--seconds OF_ALL]

numbers: a grouped-query decoder of 4 layers × 8 heads reads 131,072 tokens; every measure of the
head map, labels, and why one head does what it does, with the measures of a short text beside it.
1B and 7B: `headscope app` is started over a decoder of that shape in bfloat16 (random weights; the
7B one has the attention of 32 × 32 heads and a narrow MLP), a text of 32,000 tokens is sent, and
what each panel asks is asked; then a reading is called off in its middle. `--small` tries all of
it on any machine with a tiny model and 3,000 tokens; `--only 1B` of it takes half a minute.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import signal
import struct
import sys
import tempfile
import threading
import time
import urllib.error
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

import headscope as hs
from benchmarks.app_process import App, NotAnsweringError
from benchmarks.long import long_text, seconds
from headscope.models.open import BUNDLED
from headscope.patterns.labels import quick_table
from headscope.statistics.of_reading import reading_values

SHAPES = {
    "1B": {"layers": 16, "hidden": 2048, "heads": 32, "inner": 8192, "words": 128_256},
    "7B": {"layers": 32, "hidden": 4096, "heads": 32, "inner": 1024, "words": 32_000},
    "numbers": {"layers": 4, "hidden": 512, "heads": 8, "inner": 1024, "words": 32_000},
    "small": {"layers": 2, "hidden": 64, "heads": 4, "inner": 64, "words": 32_000},
}
WORK = {"numbers": 1, "1B": 2, "7B": 3}  # by which the seconds given are divided
Row = dict[str, Any]


def saved(folder: str, layers: int, hidden: int, heads: int, inner: int, words: int) -> str:
    """A decoder with two or more heads to a group of keys, saved as a checkpoint is."""
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(BUNDLED, model_max_length=2**18)
    shape = LlamaConfig(
        vocab_size=max(words, len(tokenizer)), hidden_size=hidden, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=max(2, heads // 4),
        intermediate_size=inner, max_position_embeddings=2**18, tie_word_embeddings=True,
        initializer_range=0.05,
    )  # fmt: skip
    torch.manual_seed(0)
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        torch.set_default_dtype(torch.bfloat16)
        model = LlamaForCausalLM(shape)
        torch.set_default_dtype(torch.float32)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


class Told:
    """What was measured, written down at every line."""

    rows: ClassVar[dict[str, Row]] = {}
    out: ClassVar[Path | None] = None


def told(row: Row, label: str, value: Any) -> Any:
    row[label] = value
    if Told.out is not None:
        Told.out.write_text(json.dumps(Told.rows, indent=1) + "\n")
    shown = f"{value:,.3f}" if isinstance(value, float) else str(value)
    print(f"  {label:<58} {shown}", flush=True)
    return value


def numbers(small: bool, profile: bool, row: Row) -> None:
    """Measures, labels and why of one long text."""
    with tempfile.TemporaryDirectory() as folder:
        saved(folder, **SHAPES["small" if small else "numbers"])
        scope = hs.load(folder, dtype="bfloat16")
    short = scope.read(long_text(scope, 600))
    expected = {name: np.isnan(found) for name, found in reading_values(short.part()).items()}
    text = long_text(scope, 1500 if small else 131_072)
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    batch = scope.encode([text])
    seconds(lambda: scope.forward(batch.inputs, use_cache=False))
    told(row, "plain forward, s", seconds(lambda: scope.forward(batch.inputs, use_cache=False))[0])
    took, reading = seconds(lambda: scope.read(text))
    part = reading.part()
    told(row, "tokens", len(part.query))
    told(row, "reading, s", took)
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    if profile:
        profiled(part)
    took, values = seconds(lambda: reading_values(part))
    told(row, "every measure of every head, s", took)
    if torch.cuda.is_available():
        told(row, "GPU memory while measuring, GB", torch.cuda.max_memory_allocated() / 1e9)
    told(row, "measures", len(values))
    told(row, "measures of 600 tokens not there", sorted(expected.keys() - values.keys()))
    empty = [name for name, found in values.items() if np.isnan(found).any()]
    told(row, "measures with a head without a number", empty)
    took, table = seconds(lambda: quick_table(reading))
    told(row, "labels, s", took)
    told(row, "scores, of them labels", [len(table), int(table["labelled"].sum())])
    strongest = table.sort_values("score", ascending=False).iloc[0]
    at = int(strongest["layer"]), int(strongest["head"])
    took, found = seconds(lambda: hs.explain(reading, *at, str(strongest["pattern"])))
    told(row, f"why head {at[0]}-{at[1]} ({strongest['pattern']}), s", took)
    told(row, "in words", found.words)


def profiled(part: Any) -> None:
    """Where the time goes in the last block of queries, two layers."""
    from torch.profiler import ProfilerActivity, profile

    from headscope.measures import every
    from headscope.statistics import of_reading
    from headscope.statistics.features.feature import resolve
    from headscope.statistics.kernels import of_layers
    from headscope.statistics.kernels.blocks import Plan, Reduced
    from headscope.statistics.statistic import Statistic

    device = of_reading._device(part)
    known = [m.computed_by for m in every().values() if m.of_one_text]
    used = [s for s in known if isinstance(s, Statistic) and s.applies(part.kind, part.causal)]
    grid = of_reading.grid_of_part(part, device)
    plan = Plan(grid, [resolve(feature) for one in used for feature in one.features()])
    layer, length = part.layers[0].on(device), len(part.query)
    into = Reduced(plan, 1, part.heads, length)
    causal = part.causal and part.kind != "cross"
    *_, (queries, keys) = of_layers.stretches(length, length, causal, device, part.heads)
    print(f"  device {device}, last block {queries}, {keys} keys", flush=True)
    kinds = [ProfilerActivity.CPU]
    kinds += [ProfilerActivity.CUDA] if device.type == "cuda" else []
    for what in ("first", "laid out", "measured"):
        with profile(activities=kinds) as watched:
            start = time.perf_counter()
            if what != "measured":
                block = of_layers.Block(plan, queries, keys)
            if what != "laid out":
                for _ in range(2):
                    of_layers._fill(into, block, layer, device)
            if device.type == "cuda":
                torch.cuda.synchronize()
            took = time.perf_counter() - start
        print(f"  {what}: {1e3 * took:.1f} ms", flush=True)
        if what != "first":
            by = "self_cuda_time_total" if device.type == "cuda" else "self_cpu_time_total"
            events = sorted(watched.key_averages(), key=lambda e: -getattr(e, BY[by], 0))[:10]
            for event in events:
                spent = getattr(event, BY[by], 0) / 1e3
                print(f"    {spent:>9.2f} ms {event.count:>5} {event.key[:90]}", flush=True)


BY = {
    "self_cuda_time_total": "self_device_time_total",
    "self_cpu_time_total": "self_cpu_time_total",
}


class Watch:
    """The most GPU memory in use while something runs, of all processes."""

    def __init__(self) -> None:
        self.most, self._over = 0.0, threading.Event()
        if torch.cuda.is_available():
            threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while not self._over.wait(0.2):
            free, total = torch.cuda.mem_get_info()
            self.most = max(self.most, (total - free) / 1e9)

    def end(self) -> float:
        self._over.set()
        return self.most


class Asking:
    """An app asked one thing after the other, each within `limit` s, all until `until`."""

    def __init__(self, running: App, row: Row, limit: float, until: float) -> None:
        self.running, self.row, self.limit, self.until = running, row, limit, until

    @property
    def left(self) -> float:
        return self.until - time.perf_counter()

    def timed(self, label: str, path: str, body: Any = None) -> bytes | None:
        """The answer, or None where it was a refusal; one that does not come ends the asking."""
        limit = min(self.limit, self.left)
        if limit < 1:
            raise NotAnsweringError(f"no time was left for: {label}")
        start = time.perf_counter()
        try:
            answer = self.running.ask(path, body, limit)
        except urllib.error.HTTPError as error:
            took = time.perf_counter() - start
            told(self.row, label, f"{error.code} after {took:.1f} s: {error.read().decode()}")
            return None
        except (urllib.error.URLError, OSError) as error:
            took = time.perf_counter() - start
            told(self.row, label, f"{error} after {took:.1f} s")
            self.running.check()
            raise NotAnsweringError(f"{label}:\n{self.running.threads()}") from error
        told(self.row, f"{label}, s", time.perf_counter() - start)
        self.row[f"{label}, MB"] = len(answer) / 1e6
        return answer


def app(shape: str, tokens: int, limit: float, until: float, row: Row) -> None:
    if importlib.util.find_spec("uvicorn") is None:
        told(row, "the app", "uvicorn is not installed here, so it was not started")
        return
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        model = Path(folder) / f"decoder-{shape}"
        start = time.perf_counter()
        saved(str(model), **SHAPES[shape])
        told(row, "made and saved, s", time.perf_counter() - start)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        watch = Watch()
        start = time.perf_counter()
        running = App(str(model), Path(folder) / "threads.txt")
        try:
            running.ready()
            told(row, "app started and model open, s", time.perf_counter() - start)
            asked(Asking(running, row, limit, until), model.name, tokens)
            told(row, "host memory of the app, GB", running.memory)
        except NotAnsweringError as error:
            told(row, "the asking ended", f"{error}\n{running.threads()}")
        finally:
            running.end()
            told(row, "GPU memory, GB", watch.end())
            print(running.where(), flush=True)


def in_memory() -> str | None:
    """Where files need no disk, if there is room for those of the largest shape."""
    place = Path("/dev/shm")
    return str(place) if place.is_dir() and shutil.disk_usage(place).free > 2e10 else None


def read_header(answer: bytes) -> Any:
    """The JSON of a container: "HSV1", its length, itself."""
    (length,) = struct.unpack("<I", answer[4:8])
    return json.loads(answer[8 : 8 + length])


def asked(of: Asking, model: str, tokens: int) -> None:
    """What people ask first comes first; the last is as much work as the rest: if there is time."""
    row, text = of.row, long_text(hs.load(device="cpu"), tokens)
    request = {"model": model, "text": text, "text_pair": None, "off": [], "layer": None}
    of.timed("tokens counted", "/api/tokens", request)
    of.timed("a short text read", "/api/read", request | {"text": text[:99]})
    start = time.perf_counter()
    answer = of.timed("long text read, every panel filled", "/api/read", request)
    took = time.perf_counter() - start
    if answer is None:
        return
    header = read_header(answer)
    part, state, name = header["parts"][0], header["state"], header["id"]
    told(row, "tokens", len(part["query"]["text"]))
    told(row, "columns of the head map", len(header["table"]["columns"]))
    told(row, "heads labelled", len(part["labels"]))
    at, kind, layer, head = f"/api/reading/{name}", state["kind"], state["layer"], state["head"]
    off = [[kind, layer, head]]
    of.timed("a head's facts and why", f"{at}/head/{kind}/{layer}/{head}")
    other = f"{at}/layer/{kind}/{part['layers'][-1]}?head=1"
    of.timed("another layer, the head looked at", other)
    of.timed("predictions", "/api/predict", {"id": name, "off": []})
    of.timed("predictions with a head off", "/api/predict", {"id": name, "off": off})
    called_off(of, request)
    of.timed("prediction taken apart", "/api/attribute", {"id": name, "target": None})
    norm = {"id": name, "target": None, "by": "norm"}
    of.timed("attention weighted by norms", "/api/weigh", norm)
    of.timed("a head's facts after that", f"{at}/head/{kind}/{layer}/{int(head == 0)}")
    of.timed("heads ranked", "/api/importance", {"id": name, "off": []})
    quarter = request | {"off": off, "text": text[: len(text) // 4]}
    of.timed("a quarter of the text read with a head off", "/api/read", quarter)
    told(row, "host memory of the app with one long text, GB", of.running.memory)
    if of.left > 1.2 * took:
        of.timed("long text read with a head off", "/api/read", request | {"off": off})


def called_off(of: Asking, request: Any) -> None:
    """A second reading of the same text, taken back while it is measured."""
    ticket, ended = "ticket-of-the-benchmark", Row()
    body = request | {"ticket": ticket}
    second = Asking(of.running, ended, of.limit, of.until)
    reader = threading.Thread(target=second.timed, args=("reading called off", "/api/read", body))
    reader.start()
    time.sleep(2.5 if torch.cuda.is_available() else 0.5)
    start = time.perf_counter()
    told(of.row, "called off", json.loads(of.running.ask("/api/cancel", {"ticket": ticket})))
    reader.join(of.limit)
    told(of.row, "called off: until it had ended, s", time.perf_counter() - start)
    told(of.row, "called off: the answer", list(ended.items()))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--small", action="store_true")
    options.add_argument("--profile", action="store_true")
    options.add_argument("--only", nargs="+", default=["numbers", "1B", "7B"])
    options.add_argument("--tokens", type=int)
    options.add_argument("--limit", type=float, default=90, help="seconds for one answer")
    options.add_argument("--seconds", type=float, default=600, help="for all of it")
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    Told.out = given.out
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Stopped."))  # what is known is still told
    began = time.perf_counter()
    for place, name in enumerate(given.only):
        print(name, flush=True)
        row = Told.rows.setdefault(name, {})
        left = given.seconds - (time.perf_counter() - began)
        to_come = sum(WORK.get(one, 1) for one in given.only[place:])
        until = time.perf_counter() + left * WORK.get(name, 1) / to_come
        if name == "numbers":
            numbers(given.small, given.profile, row)
        else:
            tokens = given.tokens or (3_000 if given.small else 32_000)
            app("small" if given.small else name, tokens, given.limit, until, row)


if __name__ == "__main__":
    main()
