"""Whisper base as two packages carry it, unpacked by requirements/fetch_data.py."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import headscope as hs
from tests.reading.media.ctranslate2_file import whisper_base

FOLDER = Path(sys.prefix) / "data" / "whisper-base"


def packaged_whisper() -> hs.Scope:
    """The model in transformers' own class, with the tokenizer and the heads of its makers."""
    from transformers import WhisperFeatureExtractor, WhisperTokenizerFast

    model: Any = whisper_base((FOLDER / "model.bin").read_bytes())
    described = json.loads((FOLDER / "config.json").read_text())
    model.generation_config.alignment_heads = described["alignment_heads"]
    file = FOLDER / "tokenizer.json"
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
