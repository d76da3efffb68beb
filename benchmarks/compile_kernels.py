"""What compiling the GPU kernels takes, part by part, on a machine with or without a GPU.

    PYTHONPATH=src python benchmarks/compile_kernels.py [--out FILE]

Every kernel that a standard survey or an atlas of a few model shapes begins with is compiled for
an H200 (`sm_90`) by the installed Triton, with nothing kept from before. Seconds are of processor
time, the programs that Triton starts included. Registers and spilled bytes are what `cuobjdump`
tells. Starting Triton, which is done once, is told apart: its import, its library read through,
and the C programs that load and launch kernels (with a C compiler).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch


def seconds() -> float:
    """Processor time of this process and of those it has waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def timed(work: Callable[[], Any]) -> float:
    before = seconds()
    work()
    return round(seconds() - before, 2)


class H200:
    """As far as compiling goes."""

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


def scope_of(name: str, dtype: torch.dtype, **shape: Any) -> Any:
    """One layer of a shape, with few words."""
    import transformers
    from transformers import AutoTokenizer

    import headscope as hs
    from headscope.models.bundle import BUNDLED

    tokenizer = AutoTokenizer.from_pretrained(BUNDLED)
    config = getattr(transformers, f"{name}Config")(
        vocab_size=len(tokenizer), num_hidden_layers=1, intermediate_size=64, **shape
    )
    model = getattr(transformers, f"{name}Model")(config).eval().to(dtype)
    return hs.Scope(model, tokenizer, name)


def usage(cubin: bytes) -> dict[str, int]:
    import triton

    tools = Path(triton.__file__).parent / "backends/nvidia/bin"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        told = subprocess.run(
            [tools / "cuobjdump", "-res-usage", file.name], capture_output=True, text=True
        ).stdout
        listed = subprocess.run(
            [tools / "nvdisasm", "-c", file.name], capture_output=True, text=True
        ).stdout
    return {
        "registers": int(re.findall(r"REG:(\d+)", told)[0]),
        "spilled bytes": int(re.findall(r"STACK:(\d+)", told)[0]),
        "instructions": len(re.findall(r"^\s*/\*[0-9a-f]{4,}\*/", listed, re.M)),
    }


def kernels() -> dict[str, Callable[[], Any]]:
    """What is compiled, and how."""
    from headscope.atlas.make import pattern_measures
    from headscope.statistics.kernels import fused, pair_divergence, row_tiles
    from headscope.statistics.places.settings import PlaceSettings
    from headscope.statistics.survey.compiling import _example
    from headscope.statistics.survey.portion import Settings
    from headscope.statistics.survey.selection import measurable

    half, single = torch.bfloat16, torch.float32
    bert = {"num_attention_heads": 12, "hidden_size": 768}
    small = {"num_attention_heads": 12, "hidden_size": 384}
    llama = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "hidden_size": 256}
    found: dict[str, Callable[[], Any]] = {}
    for name, family, dtype, tokens, shape in (
        ("encoder, heads of 64, 128 tokens", "Bert", half, 128, bert),
        ("encoder, heads of 64, 512 tokens", "Bert", half, 512, bert),
        ("encoder, heads of 32, 128 tokens", "Bert", half, 128, small),
        ("decoder, heads of 64, 512 tokens", "Llama", half, 512, llama),
        ("decoder, heads of 128, 512 tokens", "Llama", half, 512, {**llama, "head_dim": 128}),
        ("encoder, heads of 64, float32", "Bert", single, 128, bert),
        ("encoder, heads of 32, float32", "Bert", single, 128, small),
        ("decoder, heads of 128, float32", "Llama", single, 512, {**llama, "head_dim": 128}),
    ):
        scope = scope_of(family, dtype, **shape)
        settings = Settings(tuple(measurable(scope, None)[0]))
        example = _example(scope, settings, tokens)
        assert fused.fits(*example), name
        found[f"survey: {name}"] = lambda example=example: fused.compiled(*example)
    scope = scope_of("Bert", half, **bert)
    patterns = pattern_measures(scope)
    judged = tuple(s for s in patterns if s.source == "corpus")
    settings = Settings((*measurable(scope, None)[0], *patterns), places=PlaceSettings(judged))
    for tokens in (32, 127, 128, 256, 512):
        example = _example(scope, settings, tokens)
        assert row_tiles.fits(*example), tokens
        work = lambda example=example: row_tiles.compiled(*example, True)  # noqa: E731
        found[f"atlas: rows of {tokens} keys"] = work
    for count in (16, 17):
        pairs = lambda count=count: pair_divergence.compiled(torch.device("cpu"), count)  # noqa: E731
        found[f"distances: pairs of heads, {'' if count == 16 else 'not '}by 16"] = pairs
    return found


def launcher() -> dict[str, float]:
    """The C programs of Triton 3.6 that load kernels and launch one."""
    import sysconfig

    from triton.backends.nvidia import driver

    try:
        arguments = ["*bf16"] * 10 + ["i32"] * 22 + ["constexpr"] * 16
        launch = driver.make_launcher({}, dict(enumerate(arguments)), None)
    except (AttributeError, TypeError):  # other versions have it compiled
        return {}
    sources = {"loads kernels": (Path(driver.__file__).parent / "driver.c").read_text(),
               "launches a kernel": launch}  # fmt: skip
    include = [f"-I{driver.include_dirs[0]}", f"-I{sysconfig.get_paths()['include']}"]
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, source in sources.items():
            file = Path(folder) / "main.c"
            file.write_text(source)
            given = ["gcc", str(file), "-O3", "-shared", "-fPIC", "-o", f"{file}.so", *include]
            found[name] = timed(lambda given=given: subprocess.run(given, check=True))
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", type=Path)
    asked = options.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        started = {"import": timed(lambda: __import__("triton"))}
        import triton
        from triton.runtime import cache, driver

        started["library read through"] = timed(cache.triton_key)
        started |= launcher()
        driver.set_active(H200())
        found: dict[str, Any] = {"triton": triton.__version__, "started once, s": started}
        print(json.dumps(found), flush=True)
        for name, work in kernels().items():
            made: list[Any] = []
            taken = timed(lambda work=work, made=made: made.append(work()))
            found[name] = {"s": taken, **usage(made[0].asm["cubin"])}
            print(name, json.dumps(found[name]), flush=True)
    if asked.out is not None:
        asked.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
