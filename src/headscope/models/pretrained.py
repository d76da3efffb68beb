"""A model as `save_pretrained` wrote it, or as the hub holds it."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from torch import nn

from headscope.errors import BadInput, HeadscopeError, UnknownModel, first_line
from headscope.models.loading_report import check_complete, check_room, remember_untrained
from headscope.models.placement import no_device
from headscope.models.tokenizer_files import need_tokenizer, open_tokenizer

# the most useful output class, if a model's own code offers several
_REMOTE_CLASSES = (
    "AutoModelForMaskedLM",
    "AutoModelForCausalLM",
    "AutoModelForSeq2SeqLM",
    "AutoModelForSequenceClassification",
    "AutoModel",
)


def open_pretrained(
    source: str, tokenizer: Any, options: dict[str, Any], trust_remote_code: bool
) -> tuple[nn.Module, Any]:
    """The model and its tokenizer; a given tokenizer replaces a missing one."""
    from transformers import AutoConfig

    code = {"trust_remote_code": trust_remote_code}
    _check_local(source)
    try:
        configuration = AutoConfig.from_pretrained(source, **code)
    except Exception as error:  # a configuration may hold anything
        raise not_opened(source, error) from error
    if not trust_remote_code:
        _check_kernel(source, configuration, options.get("attn_implementation"))
    family = _family(configuration, trust_remote_code, source)
    if Path(source).is_dir():
        options = {**options, "local_files_only": True}  # never download what is missing
    reads_text = getattr(family, "main_input_name", "input_ids") == "input_ids"
    if tokenizer is None:  # before the weights, which take longer to open
        tokenizer = open_tokenizer(source, trust_remote_code)
        if reads_text:
            need_tokenizer(source, tokenizer)
    if not hasattr(family, "main_input_name"):
        options = {**options, **code}  # transformers' own classes have no code to trust
    return read_weights(family, source, {**options, "config": configuration}), tokenizer


def read_weights(family: Any, source: str, options: dict[str, Any]) -> nn.Module:
    """Every weight from the file; a missing one would silently be random."""
    try:
        model, report = family.from_pretrained(source, output_loading_info=True, **options)
    except Exception as error:  # readers of damaged files may raise anything
        raise _unreadable(source, options, error) from error
    check_complete(model, source, report)
    check_room(model, source, report)
    remember_untrained(model, report)
    return model


def not_opened(source: str, error: Exception) -> UnknownModel:
    """The error for a folder without a model, or an unknown name."""
    if "trust_remote_code" in str(error):
        return UnknownModel(
            f"{source} contains its own Python code, which headscope does not run by "
            "default; if you trust its authors, pass trust_remote_code=True "
            "(--trust-remote-code)."
        )
    if Path(source).is_dir():
        return UnknownModel(
            f"The folder {source} is not a model transformers can open ({first_line(error)})."
        )
    return UnknownModel(
        f"There is no model {source!r} here, and it could not be fetched from the hub; "
        "check the name and the connection, or give the folder of a model you have."
    )


def _check_local(source: str) -> None:
    """Raise an error for a missing path instead of requesting it from the hub."""
    if source.startswith((".", "/", "~")) and not Path(source).expanduser().is_dir():
        raise UnknownModel(f"There is no folder {source}; check the path.")


def _check_kernel(source: str, configuration: Any, asked: Any) -> None:
    """Raise an error for attention from the hub ("owner/kernel"), which is code, unless trusted."""
    stated = [asked, getattr(configuration, "_attn_implementation_internal", None)]
    for name in stated:
        named = name.values() if isinstance(name, dict) else [name]
        for one in named:
            if isinstance(one, str) and "/" in one:
                raise UnknownModel(
                    f"{source} asks for the attention kernel {one!r} from the hub, which is "
                    "code that headscope does not run by default; pass "
                    "attn_implementation='eager', or trust_remote_code=True "
                    "(--trust-remote-code) if you trust its authors."
                )


def _family(configuration: Any, trust_remote_code: bool, source: str) -> Any:
    """The class the model was saved as: it keeps the output layer, so it can fill in words."""
    import transformers

    stated: Any = configuration.architectures or [None]
    architecture = stated[0] if isinstance(stated, (list, tuple)) else stated
    known = getattr(transformers, architecture, None) if isinstance(architecture, str) else None
    if isinstance(known, type) and hasattr(known, "main_input_name"):
        return known
    remote = getattr(configuration, "auto_map", None) or {}
    if trust_remote_code:
        offered = next((name for name in _REMOTE_CLASSES if name in remote), "AutoModel")
        return getattr(transformers, offered)
    if any(name.startswith("AutoModel") for name in remote):
        raise not_opened(source, ValueError("trust_remote_code"))
    return transformers.AutoModel


def _unreadable(source: str, options: dict[str, Any], error: Exception) -> HeadscopeError:
    said = str(error)
    if "trust_remote_code" in said:
        return not_opened(source, error)
    if isinstance(error, pickle.UnpicklingError) or "weights_only" in said:
        return HeadscopeError(
            f"The weights of {source} are a pickle that holds more than tensors, and opening it "
            "could run code; save the model as safetensors where it was made."
        )
    if "attn_implementation" in options and options["attn_implementation"] in said:
        return BadInput(
            f"{source} cannot run {options['attn_implementation']!r} attention "
            f"({first_line(error)}); leave attn_implementation out, or use 'eager'."
        )
    if isinstance(error, ImportError):  # a quantiser, or accelerate for a device map
        return HeadscopeError(
            f"Opening {source} needs another package ({first_line(error)}); install it."
        )
    if "device_map" in options and "at start of device string" in said:
        return no_device(options["device_map"])
    return HeadscopeError(
        f"The weights of {source} cannot be loaded ({first_line(error)}); "
        "download or save the model again."
    )
