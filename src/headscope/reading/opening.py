"""`load`: a scope from a name, a folder, a file, or from existing objects."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from headscope.errors import BadInput
from headscope.models.open import check_fit, check_transformers, open_model, open_own_tokenizer
from headscope.models.placement import BITS, check_loaded, on_device
from headscope.models.unwrap import PlainModel, is_plain, tokenizer_of, unwrap
from headscope.reading.scope import Scope


def load(
    model: Any = None,
    tokenizer: Any = None,
    *,
    processor: Any = None,
    device: str | torch.device | None = None,
    dtype: torch.dtype | str | None = None,
    name: str | None = None,
    attn_implementation: str | None = None,
    trust_remote_code: bool = False,
    device_map: Any = None,
    max_memory: Any = None,
    offload_folder: str | Path | None = None,
    offload_buffers: bool | None = None,
    quantization_config: Any = None,
) -> Scope:
    """Open the bundled model, a hub name, a folder, a GGUF file, or objects you already have.

    Objects may be wrapped (PEFT, torch.compile, DataParallel, accelerate, SentenceTransformer, a
    pipeline, a Trainer): the model inside is read. A module of plain torch that attends by
    nn.MultiheadAttention is read too, with a tokenizer, or the list of its tokens, or neither
    (scope.read_inputs).

    Parameters
    ----------
    model
        A hub name, a folder, a GGUF file or a model; the bundled model if left out.
    tokenizer
        A tokenizer, a folder, a name or a list of tokens; a processor is understood too.
    processor
        The processor for pictures or sounds; by default the one beside the model.
    device
        The device, such as "cpu" or "cuda:1"; "auto" distributes a model over all devices (with
        accelerate).
    dtype
        A dtype of torch, or "8bit" or "4bit" (with bitsandbytes).
    name
        The model's name in results.
    attn_implementation
        The attention that transformers runs, such as "eager".
    trust_remote_code
        Whether code that comes with the model may run.
    device_map, max_memory, offload_folder, offload_buffers, quantization_config
        Passed to `from_pretrained` unchanged.

    Returns
    -------
    Scope
        The model with its tokenizer, ready to read.

    Examples
    --------
    >>> import headscope as hs
    >>> scope = hs.load()
    >>> scope.name
    'headscope-bundled'
    """
    check_transformers()
    settings = {"device_map": device_map, "max_memory": max_memory,
                "offload_folder": offload_folder, "offload_buffers": offload_buffers,
                "quantization_config": quantization_config}  # fmt: skip
    pretrained = {name: value for name, value in settings.items() if value is not None}
    if processor is None and _is_processor(tokenizer):
        tokenizer, processor = None, tokenizer
    if tokenizer is None:
        tokenizer = getattr(processor, "tokenizer", None)
    if isinstance(tokenizer, (str, Path)):
        tokenizer = open_own_tokenizer(tokenizer, trust_remote_code)
    named = model is None or isinstance(model, (str, Path))
    if named and tokenizer is not None and not hasattr(tokenizer, "convert_ids_to_tokens"):
        raise BadInput(
            f"{type(tokenizer).__name__} is not a transformers tokenizer; give one, or its folder."
        )
    if named:
        opened = open_model(
            model,
            tokenizer,
            device=device,
            dtype=dtype,
            trust_remote_code=trust_remote_code,
            attn_implementation=attn_implementation,
            **pretrained,
        )
        scope = Scope(opened.model, opened.tokenizer, name or opened.name)
    else:
        if attn_implementation is not None:
            raise BadInput(
                "attn_implementation= does not apply to a model that is already loaded; use "
                "model.set_attn_implementation(…)."
            )
        if pretrained or (isinstance(dtype, str) and dtype in BITS):
            asked = f"dtype={dtype!r}" if not pretrained else f"{next(iter(pretrained))}="
            raise BadInput(
                f"{asked} does not apply to a model that is already loaded; give "
                f"hs.load its name or folder instead."
            )
        scope = _of_object(model, tokenizer, device, dtype, name, processor is not None)
    if processor is not None:
        scope = dataclasses.replace(scope, processor=processor)
    if scope.tokenizer is not None:
        check_fit(scope.model, scope.tokenizer)
    return scope


def _is_processor(given: Any) -> bool:
    """Whether it prepares pictures or sounds, alone or with a tokenizer inside."""
    from transformers import FeatureExtractionMixin, ImageProcessingMixin, ProcessorMixin

    return isinstance(given, (ProcessorMixin, ImageProcessingMixin, FeatureExtractionMixin))


def _of_object(
    given: Any,
    tokenizer: Any,
    device: str | torch.device | None,
    dtype: torch.dtype | str | None,
    name: str | None,
    has_processor: bool,
) -> Scope:
    model, own_tokenizer = unwrap(given)
    tokenizer = tokenizer if tokenizer is not None else own_tokenizer
    if is_plain(model):
        return _of_plain(model, tokenizer, device, dtype, name)
    if not isinstance(model, nn.Module) or not hasattr(model, "config"):
        raise BadInput(
            f"{type(given).__name__} is not a transformers model; give a model, a folder or a name."
        )
    needs_text = getattr(model, "main_input_name", "") == "input_ids" and not has_processor
    if tokenizer is None and needs_text:
        raise BadInput("Give the tokenizer too: hs.load(model, tokenizer).")
    if tokenizer is not None and not callable(getattr(tokenizer, "convert_ids_to_tokens", None)):
        raise BadInput(
            f"{type(tokenizer).__name__} is not a transformers tokenizer; give one, or its folder."
        )
    check_loaded(model)
    model = on_device(model, device, dtype)
    shown = name or getattr(model.config, "_name_or_path", "") or type(model).__name__
    return Scope(model, tokenizer, Path(shown).name if Path(shown).is_absolute() else shown)


def _of_plain(
    module: nn.Module,
    tokens: Any,
    device: str | torch.device | None,
    dtype: torch.dtype | str | None,
    name: str | None,
) -> Scope:
    """`tokens` is a tokenizer, or the tokens in the order of their numbers, or a mapping."""
    listed = isinstance(tokens, (list, tuple, Mapping))
    tokenizer = tokenizer_of(tokens) if listed else tokens
    check_loaded(module)
    model = PlainModel(on_device(module, device, dtype))
    return Scope(model, tokenizer, name or type(module).__name__)
