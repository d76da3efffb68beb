"""Steps timed before a long run: which compile mode, which attention kernel.

    python -m training.bench --staged run/staged --tokenizer run/tokenizer -o run/bench

Prints tokens a second at 64, 128 and 512 tokens and writes the best setting to `best.txt`.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch

from training.encoder import Encoder, Shape
from training.pairs import Stream
from training.tokenizer import load_vocabulary
from training.train import losses, optimizer_for


def steps_timed(
    encoder: Encoder,
    stream: Stream,
    optimizer: torch.optim.Optimizer,
    length: int,
    tokens: int,
    steps: int,
) -> float:
    """Tokens a second of whole training steps."""
    device = stream.tokens.device
    for warm in (True, False):
        if device.type == "cuda":
            torch.cuda.synchronize()
        began = time.monotonic()
        for step in range(3 if warm else steps):
            generator = torch.Generator(device).manual_seed(step)
            words, follows = losses(encoder, stream, tokens // length, length, generator)
            (words + follows).backward()
            torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0, foreach=True)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        if device.type == "cuda":
            torch.cuda.synchronize()
    return steps * tokens / (time.monotonic() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--staged", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--batch-tokens", type=int, default=1 << 17)
    parser.add_argument("--modes", nargs="+", default=["default"])
    parser.add_argument("--kernels", nargs="+", default=["flash", "cudnn"])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    options.lr, options.weight_decay = 1e-4, 0.1
    options.out.mkdir(parents=True, exist_ok=True)
    stream = Stream.open(options.staged, "train", options.device)
    rows: list[tuple[float, str]] = []
    for mode in options.modes:
        encoder = Encoder(Shape(len(load_vocabulary(options.tokenizer)))).to(options.device)
        optimizer = optimizer_for(encoder, options)
        if options.device == "cuda":
            encoder.dtype = torch.bfloat16
        if mode != "off":
            encoder.compile_parts(mode)
        encoder.train()
        for kernel in options.kernels:
            torch.backends.cuda.enable_cudnn_sdp(kernel == "cudnn")
            torch.backends.cuda.enable_flash_sdp(kernel == "flash")
            began = time.monotonic()
            speeds = [
                steps_timed(encoder, stream, optimizer, length, options.batch_tokens, options.steps)
                for length in (64, 128, 512)
            ]
            print(
                f"{mode} {kernel}: {' / '.join(f'{s / 1e6:.2f}' for s in speeds)} M tokens/s "
                f"at 64/128/512 (in {time.monotonic() - began:.0f} s, compilation included)",
                flush=True,
            )
            rows.append((3 / sum(1 / s for s in speeds), f"--compile {mode} --kernel {kernel}"))
            (options.out / "best.txt").write_text(max(rows)[1] + "\n")


if __name__ == "__main__":
    main()
