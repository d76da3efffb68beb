"""Reading and showing a decoder of 7 billion parameters with a long prompt, on a GPU.

    PYTHONPATH=src python benchmarks/large.py [--tokens 1542 32768] [--out FILE] [--small]

32 layers × 32 heads over 8 groups of keys, random weights, bfloat16. A reading is set against the
plain forward pass of the same model on the same tokens, in one run: its time, the memory its
numbers take on the host, the weights of one head and of one layer made from it (beside the model's
own), and the page it is saved as. `--small` is the same on a CPU with a tiny model, to try it out.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from headscope.models.open import BUNDLED
from headscope.reading import Reading, Scope
from headscope.surfaces.functions import functions

SHAPE = {
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
}
SMALL = {
    "hidden_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
}
WORDS = "the cat sat on the mat and then a dog ran to the house while it was one of two . "


def made(small: bool) -> Scope:
    """The model with every weight drawn at its own scale, on the device it will run on."""
    device = "cpu" if small else "cuda"
    tokenizer = AutoTokenizer.from_pretrained(BUNDLED, model_max_length=2**20)
    torch.manual_seed(0)
    configuration = LlamaConfig(
        vocab_size=len(tokenizer), max_position_embeddings=2**17, **(SMALL if small else SHAPE)
    )
    with torch.device(device):
        model = LlamaForCausalLM(configuration).to(torch.float32 if small else torch.bfloat16)
    return Scope(model.eval(), tokenizer, "a 7B-shaped decoder")


def seconds(work: Callable[[], Any], repeats: int) -> tuple[float, float, Any]:
    """The first time, the median of the others, and the last result."""
    found: list[float] = []
    result = None
    for _ in range(repeats + 1):
        result = None  # the one before gives its memory back first
        _wait()
        start = time.perf_counter()
        result = work()
        _wait()
        found.append(time.perf_counter() - start)
    return found[0], statistics.median(found[1:] or found), result


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def text_of(scope: Scope, tokens: int) -> str:
    words = (WORDS * (tokens // 10 + 2)).split()
    return " ".join(words[: tokens - 2])  # each is one token, and two are special


def measure(scope: Scope, tokens: int, repeats: int) -> dict[str, Any]:
    text = text_of(scope, tokens)
    batch = scope.encode([text])
    assert batch.inputs["input_ids"].shape[1] == tokens, batch.inputs["input_ids"].shape
    assert scope.description  # tried once, before anything is timed
    _, plain, _ = seconds(lambda: scope.forward(batch.inputs, use_cache=False), repeats)
    first, read, reading = seconds(lambda: scope.read(text), repeats)
    part = reading.part()
    found: dict[str, Any] = {
        "tokens": tokens,
        "plain forward, s": plain,
        "reading, s": read,
        "reading of the plain forward": read / plain,
        "first reading, s": first,
        "held on the host, GB": part.nbytes / 1e9,
        "all maps would take, GB": 4 * len(part.layers) * part.heads * tokens**2 / 1e9,
        "layers kept as maps": sum(one.has_weights for one in part.layers),
    }
    if torch.cuda.is_available():
        found["copying as many bytes to the host, s"] = _copying(part.nbytes)
    found["one head, s"] = seconds(lambda: part.head_weights(part.numbers[-1], 3), 2)[1]
    if tokens <= 4096:
        found |= _beside_the_models_own(scope, text, reading)
    found |= _page(reading)
    return found


def _copying(size: int) -> float:
    """What the way from the GPU to the host takes by itself, which differs between machines."""
    on_device = torch.empty(size, dtype=torch.uint8, device="cuda")
    on_host = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    return seconds(lambda: on_host.copy_(on_device, non_blocking=True), 5)[1]


def _beside_the_models_own(scope: Scope, text: str, reading: Reading) -> dict[str, Any]:
    """One layer made from q and k, and the maps the model itself makes of it."""
    last = reading.part().numbers[-1]
    own = scope.read(text, keep=("weights",), layers=[last]).part().weights(last)
    _, layer, made_again = seconds(lambda: reading.part().weights(last), 1)
    return {
        "one layer, s": layer,
        "apart from the model's own": float(np.abs(own - made_again).max()),
    }


def _page(reading: Reading) -> dict[str, Any]:
    """A page of all heads, and the reading itself on disk and back."""
    with tempfile.TemporaryDirectory() as folder:
        path, file = Path(folder) / "page.html", Path(folder) / "reading.safetensors"
        _, taken, _ = seconds(lambda: functions()["model_view"](reading, labels=()).save(path), 1)
        # a reading is labelled once, so the time that counts is the first
        labelled, _, _ = seconds(lambda: functions()["model_view"](reading).save(path), 0)
        _, saved, _ = seconds(lambda: reading.save(file), 1)
        part = reading.part()
        _, loaded, _ = seconds(
            lambda: Reading.load(file).part().head_weights(part.numbers[0], 0), 1
        )
        return {
            "page, MB": path.stat().st_size / 1e6,
            "page, s": taken,
            "page with every head labelled, s": labelled,
            "file, GB": file.stat().st_size / 1e9,
            "saving, s": saved,
            "opening and one head, s": loaded,
        }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tokens", type=int, nargs="+", default=[1542])
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--out", type=Path)
    options.add_argument("--small", action="store_true")
    asked = options.parse_args()
    scope = made(asked.small)
    rows = [measure(scope, tokens, asked.repeats) for tokens in asked.tokens]
    for row in rows:
        for name, value in row.items():
            print(
                f"{name:<38} {value:>12.4g}"
                if isinstance(value, float)
                else f"{name:<38} {value:>12}"
            )
        print()
    if asked.out is not None:
        asked.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
