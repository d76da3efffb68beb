"""Long texts and large decoders on a GPU: every number of a text, and the app as its page asks it.

    python benchmarks/app_gpu.py [--small] [--profile] [--only numbers 1B 7B] [--out FILE]

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
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import headscope as hs
from benchmarks.long import long_text, seconds
from headscope.models.bundle import BUNDLED
from headscope.patterns.labels import quick_table
from headscope.statistics.of_reading import reading_values

LIMIT = 240  # seconds for one answer
SHAPES = {
    "1B": {"layers": 16, "hidden": 2048, "heads": 32, "inner": 8192, "words": 128_256},
    "7B": {"layers": 32, "hidden": 4096, "heads": 32, "inner": 1024, "words": 32_000},
    "numbers": {"layers": 4, "hidden": 512, "heads": 8, "inner": 1024, "words": 32_000},
    "small": {"layers": 2, "hidden": 64, "heads": 4, "inner": 64, "words": 32_000},
}
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


def told(row: Row, label: str, value: Any) -> Any:
    row[label] = value
    shown = f"{value:,.3f}" if isinstance(value, float) else str(value)
    print(f"  {label:<58} {shown}", flush=True)
    return value


def numbers(small: bool, profile: bool) -> Row:
    """Measures, labels and why of one long text."""
    row: Row = {}
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
    return row


def profiled(part: Any) -> None:
    """Where the time goes in the last block of queries, two layers."""
    from torch.profiler import ProfilerActivity, profile

    from headscope.measures import every
    from headscope.statistics import of_reading
    from headscope.statistics.features.named import resolve
    from headscope.statistics.kernels import of_layers
    from headscope.statistics.kernels.blocks import Reduced
    from headscope.statistics.kernels.plan import Plan
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


class App:
    """`headscope app` in a process of its own; notes every few seconds where its threads are."""

    def __init__(self, model: str, notes: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        start = (
            "import faulthandler; "
            f"faulthandler.dump_traceback_later(3, repeat=True, file=open({str(notes)!r}, 'w')); "
            "from headscope.__main__ import main; main()"
        )
        options = ["app", "-m", model, "--no-browser", "--port", str(self.port)]
        command = [sys.executable, "-c", start, *options, "--dtype", "bfloat16"]
        cache = {"XDG_CACHE_HOME": str(notes.parent)}
        self.process = subprocess.Popen(command, env={**os.environ, **cache})

    def ask(self, path: str, body: Any = None, limit: float = LIMIT) -> bytes:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=limit) as answer:
            return answer.read()

    def ready(self) -> None:
        for _ in range(LIMIT * 10):
            try:
                if json.loads(self.ask("/api/start"))["doing"] is None:
                    return
            except (urllib.error.URLError, ConnectionError):
                pass
            time.sleep(0.1)
        raise SystemExit("The app did not start.")

    @property
    def memory(self) -> float:
        """GB of the host at most so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1e6


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


def timed(row: Row, label: str, work: Callable[[], bytes]) -> bytes | None:
    start = time.perf_counter()
    try:
        answer = work()
    except urllib.error.HTTPError as error:
        told(row, label, f"{error.code} after {time.perf_counter() - start:.1f} s: {error.read()}")
        return None
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        told(row, label, f"{error} after {time.perf_counter() - start:.1f} s")
        return None
    told(row, f"{label}, s", time.perf_counter() - start)
    row[f"{label}, MB"] = len(answer) / 1e6
    return answer


def app(shape: str, tokens: int) -> Row:
    row: Row = {}
    if importlib.util.find_spec("uvicorn") is None:
        told(row, "the app", "uvicorn is not installed here, so it was not started")
        return row
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / f"decoder-{shape}"
        start = time.perf_counter()
        saved(str(model), **SHAPES[shape])
        told(row, "made and saved, s", time.perf_counter() - start)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        notes, watch = Path(folder) / "threads.txt", Watch()
        start = time.perf_counter()
        running = App(str(model), notes)
        try:
            running.ready()
            told(row, "app started and model open, s", time.perf_counter() - start)
            asked(running, model.name, tokens, row)
            told(row, "host memory of the app, GB", running.memory)
        finally:
            running.process.terminate()
            running.process.wait(20)
            told(row, "GPU memory, GB", watch.end())
            print(where(notes), flush=True)
    return row


def read_header(answer: bytes) -> Any:
    """The JSON of a container: "HSV1", its length, itself."""
    (length,) = struct.unpack("<I", answer[4:8])
    return json.loads(answer[8 : 8 + length])


def asked(running: App, model: str, tokens: int, row: Row) -> None:
    text = long_text(hs.load(), tokens)
    request = {"model": model, "text": text, "text_pair": None, "off": [], "layer": None}
    timed(row, "tokens counted", lambda: running.ask("/api/tokens", request))
    timed(row, "a short text read", lambda: running.ask("/api/read", request | {"text": text[:99]}))
    answer = timed(
        row, "long text read, every panel filled", lambda: running.ask("/api/read", request)
    )
    if answer is not None:
        header = read_header(answer)
        part, state, name = header["parts"][0], header["state"], header["id"]
        told(row, "tokens", len(part["query"]["text"]))
        told(row, "columns of the head map", len(header["table"]["columns"]))
        told(row, "heads labelled", len(part["labels"]))
        at = f"/api/reading/{name}"
        kind, layer, head = state["kind"], state["layer"], state["head"]
        timed(
            row, "a head's facts and why", lambda: running.ask(f"{at}/head/{kind}/{layer}/{head}")
        )
        other = f"{at}/layer/{kind}/{part['layers'][-1]}?head=1"
        timed(row, "another layer, the head looked at", lambda: running.ask(other))
        chosen = {"id": name, "off": []}
        timed(row, "predictions", lambda: running.ask("/api/predict", chosen))
        off = {"id": name, "off": [[kind, layer, head]]}
        timed(row, "predictions with a head off", lambda: running.ask("/api/predict", off))
        timed(row, "heads ranked", lambda: running.ask("/api/importance", chosen))
        target = {"id": name, "target": None}
        timed(row, "prediction taken apart", lambda: running.ask("/api/attribute", target))
        norm = target | {"by": "norm"}
        timed(row, "attention weighted by norms", lambda: running.ask("/api/weigh", norm))
        again = request | {"off": [[kind, layer, head]]}
        timed(row, "long text read with a head off", lambda: running.ask("/api/read", again))
        told(row, "host memory of the app before one is called off, GB", running.memory)
    called_off(running, request, row)


def called_off(running: App, request: Any, row: Row) -> None:
    """A second reading of the same text, taken back while it is measured."""
    ticket, ended = "ticket-of-the-benchmark", Row()
    body = request | {"ticket": ticket}

    def read() -> None:
        timed(ended, "reading called off", lambda: running.ask("/api/read", body))

    reader = threading.Thread(target=read)
    reader.start()
    time.sleep(0.3)
    while json.loads(running.ask(f"/api/queue/{ticket}"))["before"] is None and reader.is_alive():
        time.sleep(0.05)
    time.sleep(2.0 if torch.cuda.is_available() else 0.2)
    start = time.perf_counter()
    running.ask("/api/cancel", {"ticket": ticket})
    reader.join(LIMIT)
    told(row, "called off: until it had ended, s", time.perf_counter() - start)
    told(row, "called off: the answer", list(ended.items()))


def where(notes: Path) -> str:
    """The lines of headscope that threads were seen at most often."""
    seen: dict[str, int] = {}
    for thread in notes.read_text().split("Thread 0x"):
        lines = [line.strip() for line in thread.splitlines() if "/headscope/" in line]
        if lines and "_start" not in lines[-1]:
            at = " < ".join(
                line.split("/headscope/")[1].replace('", line', "") for line in lines[:3]
            )
            seen[at] = seen.get(at, 0) + 1
    most = sorted(seen.items(), key=lambda item: -item[1])[:12]
    return "\n".join(f"  {count * 3:>4} s near {at}" for at, count in most)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--small", action="store_true")
    options.add_argument("--profile", action="store_true")
    options.add_argument("--only", nargs="+", default=["numbers", "1B", "7B"])
    options.add_argument("--tokens", type=int)
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    rows: dict[str, Row] = {}
    for name in given.only:
        print(name, flush=True)
        if name == "numbers":
            rows[name] = numbers(given.small, given.profile)
        else:
            tokens = given.tokens or (3_000 if given.small else 32_000)
            rows[name] = app("small" if given.small else name, tokens)
        if given.out is not None:
            given.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
