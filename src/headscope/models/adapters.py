"""Folders with a PEFT adapter (such as LoRA): opened with their base model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from torch import nn

from headscope.errors import BadInput, HeadscopeError, first_line
from headscope.json_text import parse_json
from headscope.models.pretrained import open_pretrained
from headscope.models.tokenizer_files import ADAPTER, open_tokenizer
from headscope.models.unwrap import unwrap

WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")
_VOCABULARY = re.compile(r"embed|lm_head")  # saved too if the vocabulary changed


def open_adapter(
    path: Path, tokenizer: Any, options: dict[str, Any], trust_remote_code: bool
) -> tuple[nn.Module, Any]:
    """The base model with the adapter's layers in it, and the tokenizer of either folder."""
    base = _base_of(path)
    try:
        from peft import PeftModel  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise HeadscopeError(
            f"{path} is an adapter for {base}; opening it needs the peft package: pip install peft."
        ) from error
    if not any((path / name).is_file() for name in WEIGHTS):  # peft would request them from the hub
        raise HeadscopeError(
            f"The adapter {path} has no weights ({' or '.join(WEIGHTS)}); save or download it "
            "again."
        )
    own = tokenizer if tokenizer is not None else open_tokenizer(str(path), trust_remote_code)
    model, of_base = open_pretrained(base, own, options, trust_remote_code)
    try:
        adapted = PeftModel.from_pretrained(model, str(path))
    except Exception as error:  # readers of damaged files may raise anything
        raise HeadscopeError(
            f"The adapter {path} does not fit {base} ({first_line(error)}); "
            "check base_model_name_or_path in its adapter_config.json."
        ) from error
    _check_complete(adapted, path)
    return unwrap(adapted).model, of_base


def _check_complete(adapted: Any, path: Path) -> None:
    """Raise an error if weights are missing: peft would silently use an untrained adapter's."""
    from peft import get_peft_model_state_dict  # pyright: ignore[reportMissingImports]
    from peft.utils import load_peft_weights  # pyright: ignore[reportMissingImports]

    made = set(get_peft_model_state_dict(adapted, save_embedding_layers=False))
    stored = set(load_peft_weights(str(path), device="cpu"))
    missing = sorted(made - stored)
    left = sorted(name for name in stored - made if not _VOCABULARY.search(name))
    if missing or left:
        what = f"lacks {len(missing)} weights" if missing else f"has {len(left)} weights too many"
        raise HeadscopeError(
            f"The adapter {path} {what} (such as {(missing or left)[0]}): its file and its "
            "adapter_config.json do not belong together; save or download it again."
        )


def _base_of(path: Path) -> str:
    try:
        base = parse_json((path / ADAPTER).read_text("utf-8")).get("base_model_name_or_path")
    except (ValueError, OSError, AttributeError) as error:
        raise BadInput(
            f"The file {ADAPTER} in {path} cannot be read ({first_line(error)}); "
            "save the adapter again."
        ) from error
    if not base:
        raise BadInput(
            f"The adapter {path} does not name its base model; "
            f"write it as base_model_name_or_path in {ADAPTER}."
        )
    beside = path / base
    return str(beside if beside.is_dir() else base)
