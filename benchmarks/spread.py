"""Models that do not fit one device, or whose weights are quantised: read, surveyed, edited, run.

    PYTHONPATH=src python benchmarks/spread.py [--out FILE] [--small]

A decoder with random weights is loaded whole on the GPU, then so that half of its layers stay in
main memory (`device_map` with little memory allowed, by accelerate), then with weights of 8 and of
4 bits where bitsandbytes, torchao or quanto is installed, or what transformers' own 8-bit floats
need. Each is set against the model itself with
`output_attentions`; a survey, an edit and a generation are done as well. `--small` is the same on a
CPU, where the other device is the disk.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

import headscope as hs
from headscope.models.bundle import BUNDLED

SHAPE = {"hidden_size": 1024, "num_hidden_layers": 12, "num_attention_heads": 16,
         "num_key_value_heads": 4, "intermediate_size": 2816}  # fmt: skip
SMALL = {"hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
         "num_key_value_heads": 2, "intermediate_size": 128}  # fmt: skip
TEXT = "the cat sat on the mat and then a dog ran to the house while it was one of two . " * 4


def saved(folder: Path, small: bool) -> Any:
    tokenizer = AutoTokenizer.from_pretrained(BUNDLED)
    torch.manual_seed(0)
    shape = LlamaConfig(vocab_size=len(tokenizer), **(SMALL if small else SHAPE))
    LlamaForCausalLM(shape).to(torch.float32 if small else torch.bfloat16).save_pretrained(folder)
    return tokenizer


def ways(small: bool, layers: int, disk: Path) -> dict[str, Callable[[], dict[str, Any]]]:
    """Options of from_pretrained by what they do; an ImportError says what is not installed."""
    first, other = ("cpu", "disk") if small else (0, "cpu")

    def half() -> dict[str, Any]:
        places: dict[str, Any] = {"model.embed_tokens": first, "model.rotary_emb": first,
                                  "model.norm": first, "lm_head": first}  # fmt: skip
        for layer in range(layers):
            places[f"model.layers.{layer}"] = first if layer < layers // 2 else other
        return {"device_map": places, "offload_folder": str(disk)}

    def bits(count: int) -> dict[str, Any]:
        need("bitsandbytes")
        from transformers import BitsAndBytesConfig

        config = BitsAndBytesConfig(load_in_8bit=count == 8, load_in_4bit=count == 4)
        return {"device_map": {"": first}, "quantization_config": config}

    def torchao() -> dict[str, Any]:
        need("torchao")
        from torchao.quantization import Int8WeightOnlyConfig
        from transformers import TorchAoConfig

        config = TorchAoConfig(Int8WeightOnlyConfig())
        return {"device_map": {"": first}, "quantization_config": config}

    def floats() -> dict[str, Any]:
        from transformers import FineGrainedFP8Config

        return {"device_map": {"": first}, "quantization_config": FineGrainedFP8Config()}

    def quanto() -> dict[str, Any]:
        need("optimum.quanto")
        from transformers import QuantoConfig

        return {"device_map": {"": first}, "quantization_config": QuantoConfig(weights="int8")}

    return {
        "whole": lambda: {"device_map": {"": first}},
        "half of the layers elsewhere": half,
        "8 bits (bitsandbytes)": lambda: bits(8),
        "4 bits (bitsandbytes)": lambda: bits(4),
        "8 bits (torchao)": torchao,
        "8 bits (quanto)": quanto,
        "8-bit floats (transformers)": floats,
    }


def need(package: str) -> None:
    if importlib.util.find_spec(package.partition(".")[0]) is None:
        raise ImportError(f"{package} is not installed")


def tried(model: Any, tokenizer: Any) -> dict[str, Any]:
    scope = hs.load(model, tokenizer)
    batch = scope.encode([TEXT])
    start = time.perf_counter()
    reading = scope.read(TEXT)
    found: dict[str, Any] = {"reading, s": time.perf_counter() - start}
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    with torch.no_grad():
        own = model(**scope.accepted(batch.inputs), output_attentions=True).attentions
    model.set_attn_implementation(before)
    expected = np.stack([maps[0].float().cpu().numpy() for maps in own])
    found["largest difference from output_attentions"] = float(
        np.abs(np.asarray(reading.attention) - expected).max()
    )
    survey = hs.survey(scope, [TEXT, TEXT[:90]], progress=False)
    found["survey"] = bool(np.isfinite(survey.map("entropy")).all())
    without = scope.without([(0, 1)]).read(TEXT).attention
    found["an edit changes later layers"] = bool(
        np.abs(np.asarray(without)[1:] - np.asarray(reading.attention)[1:]).max() > 0
    )
    found["generation"] = len(scope.generate("the cat", max_new_tokens=4).tokens) > 3
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", type=Path)
    options.add_argument("--small", action="store_true")
    asked = options.parse_args()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "model"
        tokenizer = saved(folder, asked.small)
        layers = (SMALL if asked.small else SHAPE)["num_hidden_layers"]
        for name, way in ways(asked.small, layers, Path(temporary) / "disk").items():
            try:
                dtype = torch.float32 if asked.small else torch.bfloat16
                model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, **way())
                found[name] = tried(model.eval(), tokenizer)
            except ImportError as error:
                found[name] = str(error)
            except Exception as error:  # what a quantiser of another version says is a result
                found[name] = f"{type(error).__name__}: {str(error)[:300]}"
            print(name, found[name], flush=True)
    if asked.out is not None:
        asked.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
