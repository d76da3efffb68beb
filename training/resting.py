"""Where attention rests, by length: on [CLS] and [SEP], and on . and , in held-out pairs.

    python -m training.resting checkpoints/step-006400.safetensors model.safetensors \\
        --staged run/staged --tokenizer run/tokenizer -o training/results/resting.json

Special tokens and punctuation are kept apart. For every length: the best head of each, how its
mass divides among [CLS], the first and the last [SEP], and the mean of all heads.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from training.encoder import Encoder, Shape
from training.evaluation.survey import tables
from training.pairs import Stream
from training.tokenizer import CLS, SEP, load_vocabulary

LENGTHS = (16, 24, 32, 64, 128, 256, 512)
RESTING = ("delimiter", "delimiter_cls", "delimiter_sep1", "delimiter_sep2", "punctuation")
AT_ONCE = 4096  # tokens in one batch


def open_encoder(weights: Path, vocabulary: int, heads: int) -> Encoder:
    found = load_file(weights)
    layers = 1 + max(int(n.split(".")[3]) for n in found if n.startswith("bert.encoder.layer."))
    inner, hidden = found["bert.encoder.layer.0.intermediate.dense.weight"].shape
    encoder = Encoder(Shape(vocabulary, layers, heads, hidden, inner))
    encoder.from_bert(found)
    return encoder.eval()


def keys(tokens: Tensor, punctuation: Tensor) -> Tensor:
    """Which keys each of RESTING means: part b k."""
    separators = (tokens == SEP).cumsum(1)
    first, last = ((tokens == SEP) & (separators == n) for n in (1, 2))
    opening = tokens == CLS
    return torch.stack([opening | first | last, opening, first, last, punctuation[tokens]])


@torch.no_grad()
def resting(
    encoder: Encoder, held_out: Stream, vocabulary: list[str], length: int, tokens: int
) -> dict[str, Any]:
    """Mass on special tokens and on punctuation from all other tokens, at one length."""
    generator = torch.Generator().manual_seed(30_000 + length)
    _, punctuation = tables(vocabulary, "cpu")
    shape = encoder.shape
    sums = torch.zeros(len(RESTING), shape.layers, shape.heads, dtype=torch.float64)
    even, asking = (torch.zeros(len(RESTING), dtype=torch.float64) for _ in range(2))
    batch = max(1, AT_ONCE // length)
    inputs = max(1, tokens // (batch * length)) * batch
    for _ in range(inputs // batch):
        pairs = held_out.draw(batch, length, generator)
        asked = (~pairs.special).float()  # b q
        wanted = keys(pairs.tokens, punctuation).float()

        def look(layer: int, attention: Tensor, asked: Tensor = asked, on: Tensor = wanted) -> None:
            received = torch.einsum("bhqk,bq->bhk", attention, asked)
            sums[:, layer] += torch.einsum("bhk,pbk->ph", received, on).double()

        encoder.encode(pairs.tokens, pairs.segments, look)
        even += wanted.mean(2).sum(1).double()
        asking += wanted.any(2).sum(1).double()  # a short input may hold no . or ,
    scores = sums / (asking * (length - 3))[:, None, None].clamp_min(1)
    row: dict[str, Any] = {"length": length, "inputs": inputs}
    for number, name in enumerate(RESTING):
        if name not in ("delimiter", "punctuation"):
            continue
        layer, head = divmod(int(scores[number].argmax()), shape.heads)
        row[name] = {
            "layer": layer,
            "head": head,
            "uniform": float(even[number] / asking[number]),
            "mean_of_heads": float(scores[number].mean()),
        } | {part: float(scores[i, layer, head]) for i, part in enumerate(RESTING)}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", nargs="+", type=Path)
    parser.add_argument("--staged", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=1 << 16, help="held-out tokens per length")
    parser.add_argument("-o", "--out", type=Path, required=True)
    options = parser.parse_args()
    vocabulary = load_vocabulary(options.tokenizer)
    held_out = Stream.open(options.staged, "held")
    found: dict[str, list[dict[str, Any]]] = {}
    for path in options.weights:
        encoder = open_encoder(path, len(vocabulary), options.heads)
        rows = found[path.stem] = []
        for length in LENGTHS:
            row = resting(encoder, held_out, vocabulary, length, options.tokens)
            rows.append(row)
            special, stops = row["delimiter"], row["punctuation"]
            print(
                f"{path.stem} {length:>4} tokens: specials {special['delimiter']:.3f} "
                f"({special['layer']}-{special['head']}), punctuation {stops['punctuation']:.3f} "
                f"({stops['layer']}-{stops['head']})",
                flush=True,
            )
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=1) + "\n")
    print(f"-> {options.out}")


if __name__ == "__main__":
    main()
