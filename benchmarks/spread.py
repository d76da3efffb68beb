"""Models that do not fit one device, or whose weights are quantised: read, surveyed, edited, run.

    PYTHONPATH=src python benchmarks/spread.py [--shape small|1b|7b] [--only WORDS …] [--out FILE]

A decoder with random weights is loaded whole on the GPU, then so that half of its layers stay in
main memory (`device_map`, by accelerate), then with weights of 8 and of 4 bits where bitsandbytes,
torchao or quanto is installed, or what transformers' own 8-bit floats need. Each is set against
itself with `output_attentions`: the maps it is read with, those made from q and k when they are
asked for, and those of a reading that was saved and loaded. A survey, an edit and a generation
are done as well. `--shape small` is the same on a CPU, where the other device is the disk; `--only`
names words of the ways to try.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import logging
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

import headscope as hs
from headscope.models.open import BUNDLED
from headscope.reading import Reading, Scope

SHAPES = {
    "small": {"hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
              "num_key_value_heads": 2, "intermediate_size": 128},
    "1b": {"hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32,
           "num_key_value_heads": 8, "intermediate_size": 8192},
    "7b": {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
           "num_key_value_heads": 8, "intermediate_size": 14336},
}  # fmt: skip
TEXT = "the cat sat on the mat and then a dog ran to the house while it was one of two . "


def saved(folder: Path, shape: str) -> Any:
    """Every weight drawn on the device the model will run on, where that takes no time."""
    tokenizer = AutoTokenizer.from_pretrained(BUNDLED, model_max_length=2**20)
    torch.manual_seed(0)
    configuration = LlamaConfig(vocab_size=len(tokenizer), **SHAPES[shape])
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32 if shape == "small" else torch.bfloat16)
    with torch.device("cpu" if shape == "small" else "cuda"):
        LlamaForCausalLM(configuration).save_pretrained(folder)
    torch.set_default_dtype(before)
    return tokenizer


def ways(shape: str, disk: Path) -> dict[str, Callable[[], dict[str, Any]]]:
    """Options of from_pretrained by what they do; an ImportError says what is not installed."""
    first, other = ("cpu", "disk") if shape == "small" else (0, "cpu")
    layers = int(SHAPES[shape]["num_hidden_layers"])

    def half() -> dict[str, Any]:
        places: dict[str, Any] = {"model.embed_tokens": first, "model.rotary_emb": first,
                                  "model.norm": first, "lm_head": first}  # fmt: skip
        for layer in range(layers):
            places[f"model.layers.{layer}"] = first if layer < layers // 2 else other
        return {"device_map": places, "offload_folder": str(disk)}

    def quantised(config: Any) -> dict[str, Any]:
        return {"device_map": {"": first}, "quantization_config": config}

    def eight() -> dict[str, Any]:
        need("bitsandbytes")
        from transformers import BitsAndBytesConfig

        logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # a line for every product
        return quantised(BitsAndBytesConfig(load_in_8bit=True))

    def four() -> dict[str, Any]:
        need("bitsandbytes")
        from transformers import BitsAndBytesConfig

        dtype = torch.float32 if shape == "small" else torch.bfloat16
        return quantised(
            BitsAndBytesConfig(
                load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype
            )
        )

    def torchao() -> dict[str, Any]:
        need("torchao")
        from torchao.quantization import Int8WeightOnlyConfig
        from transformers import TorchAoConfig

        return quantised(TorchAoConfig(Int8WeightOnlyConfig()))

    def floats() -> dict[str, Any]:
        from transformers import FineGrainedFP8Config

        return quantised(FineGrainedFP8Config())

    def quanto() -> dict[str, Any]:
        need("optimum.quanto")
        from transformers import QuantoConfig

        return quantised(QuantoConfig(weights="int8"))

    return {
        "whole": lambda: {"device_map": {"": first}},
        "half of the layers elsewhere": half,
        "8 bits (bitsandbytes)": eight,
        "4 bits (bitsandbytes)": four,
        "8 bits (torchao)": torchao,
        "8 bits (quanto)": quanto,
        "8-bit floats (transformers)": floats,
    }


def need(package: str) -> None:
    if importlib.util.find_spec(package.partition(".")[0]) is None:
        raise ImportError(f"{package} is not installed")


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """The second of two times: the first one compiles and chooses kernels."""
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    result = work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start, result


def peak() -> float:
    return torch.cuda.max_memory_allocated() / 1e9 if torch.cuda.is_available() else float("nan")


def tried(model: Any, tokenizer: Any, tokens: int) -> dict[str, Any]:
    scope = hs.load(model, tokenizer)
    text = " ".join((TEXT * (tokens // 10)).split()[: tokens - 2])
    batch = scope.encode([text])
    plain, _ = timed(lambda: scope.forward(batch.inputs, use_cache=False))
    found: dict[str, Any] = {
        "weights, GB": model.get_memory_footprint() / 1e9,
        "plain forward, s": plain,
        "most memory of the device in it, GB": peak(),
    }
    taken, reading = timed(lambda: scope.read(text))
    found |= {"reading, s": taken, "most memory of the device while reading, GB": peak()}
    found["held on the host, GB"] = reading.part().nbytes / 1e9
    found |= beside_its_own(scope, batch, text)
    survey = hs.survey(scope, [text, " ".join(text.split()[:20])], progress=False)
    found["survey"] = bool(np.isfinite(survey.map("entropy")).all())
    without = scope.without([(0, 1)]).read(text).part().weights(1)
    found["an edit changes the next layer by"] = float(
        np.abs(without - reading.part().weights(1)).max()
    )
    found["tokens written"] = len(scope.generate("the cat", max_new_tokens=4).tokens)
    return found


def beside_its_own(scope: Scope, batch: Any, text: str) -> dict[str, float]:
    """The largest difference from the model's own maps, of what is kept and of what is made."""
    model: Any = scope.model
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    with torch.no_grad():
        own = model(**scope.accepted(batch.inputs), output_attentions=True).attentions
    kept, lazy = scope.read(text, keep=("weights",)), scope.read(text, keep=("q", "k"))
    model.set_attn_implementation(before)
    with tempfile.TemporaryDirectory() as folder:
        lazy.save(Path(folder) / "reading.safetensors")
        loaded = Reading.load(Path(folder) / "reading.safetensors")
        return {
            f"largest difference from output_attentions, {name}": max(
                float(np.abs(one.part().weights(layer) - maps[0].float().cpu().numpy()).max())
                for layer, maps in enumerate(own)
            )
            for name, one in (("kept", kept), ("made from q and k", lazy), ("loaded", loaded))
        }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--shape", choices=tuple(SHAPES), default="1b")
    options.add_argument("--tokens", type=int, default=512)
    options.add_argument("--only", nargs="*", default=())
    options.add_argument("--out", type=Path)
    asked = options.parse_args()
    found: dict[str, Any] = {"shape": asked.shape, "tokens": asked.tokens}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "model"
        tokenizer = saved(folder, asked.shape)
        for name, way in ways(asked.shape, Path(temporary) / "disk").items():
            if asked.only and not any(word in name for word in asked.only):
                continue
            found[name] = one_way(folder, tokenizer, way, asked)
            print(name, json.dumps(found[name], indent=1), flush=True)
            if asked.out is not None:
                asked.out.write_text(json.dumps(found, indent=1) + "\n")


def one_way(folder: Path, tokenizer: Any, way: Callable[[], dict[str, Any]], asked: Any) -> Any:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    try:
        dtype = torch.float32 if asked.shape == "small" else torch.bfloat16
        start = time.perf_counter()
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, **way())
        opened = time.perf_counter() - start
        return {"opening, s": opened} | tried(model.eval(), tokenizer, asked.tokens)
    except ImportError as error:
        return str(error)
    except Exception as error:  # what a quantiser of another version says is a result
        return f"{type(error).__name__}: {str(error)[:300]}"


if __name__ == "__main__":
    main()
