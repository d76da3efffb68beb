"""Checkpoints: weights as half-precision safetensors under BERT's names (kept), and the whole
state of the training, optimizer included (the newest only), so a run can go on where it stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from training.encoder import Encoder


def half(encoder: Encoder) -> dict[str, Tensor]:
    return {name: t.half().cpu().contiguous() for name, t in encoder.to_bert().items()}


def save_weights(encoder: Encoder, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    hidden = path.with_name("." + path.name)
    save_file(half(encoder), hidden, metadata={"format": "pt"})
    hidden.rename(path)


def load_weights(encoder: Encoder, path: Path) -> None:
    encoder.from_bert(load_file(path))


def save_state(path: Path, state: dict[str, Any]) -> None:
    hidden = path.with_name("." + path.name)
    torch.save(state, hidden)
    hidden.rename(path)


def load_state(path: Path) -> dict[str, Any]:
    return torch.load(path, map_location="cpu", weights_only=True)


def append(path: Path, row: dict[str, Any]) -> None:
    """One JSON object a line: a run that stops leaves every finished line readable."""
    with path.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(row) + "\n")
