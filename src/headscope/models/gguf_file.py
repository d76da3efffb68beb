"""Quantised models in GGUF files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn

from headscope.errors import HeadscopeError, UnknownModel, first_line
from headscope.models.gguf_header import gguf_settings
from headscope.models.loading_report import check_complete, remember_untrained
from headscope.models.tokenizer_files import with_first_token


def open_gguf(path: Path, options: dict[str, Any]) -> tuple[nn.Module, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    if not path.is_file():
        raise UnknownModel(f"The GGUF file {path} does not exist; check the path.")
    try:
        import gguf  # noqa: F401  # pyright: ignore
    except ImportError as error:
        raise HeadscopeError(
            "Reading GGUF files needs the gguf package; run: pip install 'headscope[gguf]'."
        ) from error
    place = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    try:
        opened: Any = AutoModelForCausalLM.from_pretrained(
            **place, **options, output_loading_info=True, trust_remote_code=False
        )
        model, report = opened
        tokenizer = AutoTokenizer.from_pretrained(**place, trust_remote_code=False)
        first = puts_token_first(path)
    except Exception as error:  # readers of damaged files raise whatever they stumble over
        raise HeadscopeError(
            f"The GGUF file {path} cannot be read ({first_line(error)}); "
            "its architecture may be unknown to transformers, or the file is damaged."
        ) from error
    check_complete(model, str(path), report)
    remember_untrained(model, report)
    return model, with_first_token(tokenizer) if first else tokenizer


def puts_token_first(path: Path) -> bool:
    """Whether the file says that its model reads a beginning-of-text token before every text.

    Where it says nothing, sentencepiece vocabularies have one and others have not, as llama.cpp
    takes it.
    """
    settings = gguf_settings(path)
    stated = settings.get("tokenizer.ggml.add_bos_token")
    return settings.get("tokenizer.ggml.model") == "llama" if stated is None else bool(stated)
