"""Weights and tokenizer to a folder that `transformers` opens.

python -m training.export run/model.safetensors --tokenizer run/tokenizer -o folder
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from safetensors.torch import load_file, save_file
from transformers import BertConfig

from training.encoder import Shape

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "vocab.txt")


def export(weights: Path, tokenizer: Path, out: Path, heads: int = 8) -> None:
    out.mkdir(parents=True, exist_ok=True)
    found = {name: tensor.half().contiguous() for name, tensor in load_file(weights).items()}
    words = found["bert.embeddings.word_embeddings.weight"]
    layers = 1 + max(int(n.split(".")[3]) for n in found if n.startswith("bert.encoder.layer."))
    shape = Shape(
        vocabulary=words.shape[0],
        layers=layers,
        heads=heads,
        hidden=words.shape[1],
        inner=found["bert.encoder.layer.0.intermediate.dense.weight"].shape[0],
        positions=found["bert.embeddings.position_embeddings.weight"].shape[0],
    )
    config = BertConfig(
        **shape.to_bert(),
        architectures=["BertForPreTraining"],
        pad_token_id=0,
        dtype="float16",
    )
    config.save_pretrained(str(out))
    save_file(found, out / "model.safetensors", metadata={"format": "pt"})
    for name in TOKENIZER_FILES:
        if (tokenizer / name).resolve() != (out / name).resolve():
            shutil.copy(tokenizer / name, out / name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("-o", "--out", type=Path, required=True)
    options = parser.parse_args()
    export(options.weights, options.tokenizer, options.out, options.heads)
    size = sum(path.stat().st_size for path in options.out.rglob("*") if path.is_file())
    print(f"{options.out}: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
