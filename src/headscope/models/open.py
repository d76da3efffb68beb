"""Open a model by name, folder or GGUF file, and say plainly when it cannot be done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import nn

from headscope.errors import BadInput, HeadscopeError, UnknownModel
from headscope.models.bundle import BUNDLED as BUNDLED
from headscope.models.bundle import NAME, open_bundled


def open_model(
    name: str | Path | None,
    *,
    device: str | torch.device | None = None,
    dtype: torch.dtype | str | None = None,
    attn_implementation: str | None = None,
    trust_remote_code: bool = False,
) -> tuple[nn.Module, Any, str]:
    """The model in evaluation mode, its tokenizer, and the name to show."""
    source = BUNDLED if name is None else name
    shown = NAME if name is None else _shown(name)
    options: dict[str, Any] = {"dtype": dtype or torch.float32}
    if attn_implementation is not None:
        options["attn_implementation"] = attn_implementation
    if trust_remote_code:
        options["trust_remote_code"] = True
    path = Path(source).expanduser()
    if path.suffix == ".gguf":
        model, tokenizer = _open_gguf(path, options)
    elif name is None and len(options) == 1 and isinstance(options["dtype"], torch.dtype):
        model, tokenizer = open_bundled(options["dtype"])
    else:
        model, tokenizer = _open_pretrained(model_source(source), options)
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    return place(model, where, None).eval(), tokenizer, shown


def place(
    model: nn.Module, device: str | torch.device | None, dtype: torch.dtype | str | None
) -> nn.Module:
    """The model on a device and in a dtype, each left alone when None."""
    try:
        kind: torch.dtype | None = getattr(torch, dtype) if isinstance(dtype, str) else dtype
        return model if device is None and kind is None else model.to(device=device, dtype=kind)
    except (RuntimeError, AssertionError, AttributeError, TypeError) as error:
        kept = "" if dtype is None else f" with dtype {dtype!r}"
        named = "at start of device string" in str(error)  # it lists every device there could be
        reason = "there is no such device" if named else _first_line(error)
        raise BadInput(
            f"The device {str(device)!r}{kept} cannot be used here ({reason}); try device='cpu'."
        ) from error


def check_fit(model: nn.Module, tokenizer: Any) -> None:
    """A tokenizer of another model gives ids that the embeddings do not have."""
    find: Any = getattr(model, "get_input_embeddings", None)
    embeddings = find() if find is not None else None
    rows = getattr(embeddings, "num_embeddings", None)
    if rows is not None and len(tokenizer) > rows:
        raise BadInput(
            f"The tokenizer knows {len(tokenizer):,} tokens but the model embeds only {rows:,}; "
            "load the tokenizer that was saved with this model."
        )


def _shown(name: str | Path) -> str:
    text = str(name)
    return Path(text).name if Path(text).exists() else text


def model_source(source: str | Path) -> str:
    """The folder or hub name to open; a path that is there but holds no model is refused here."""
    path = Path(source).expanduser()
    if path.is_file():
        raise BadInput(f"{source} is a file; give a model's folder, a GGUF file or a hub name.")
    if not path.is_dir():
        return str(source)
    configuration = path / "config.json"
    if not configuration.is_file():
        raise BadInput(
            f"The folder {source} holds no model: it has no config.json; "
            "give a folder written by save_pretrained."
        )
    try:
        json.loads(configuration.read_text())
    except (ValueError, OSError) as error:
        raise BadInput(
            f"The file config.json in {source} cannot be read ({_first_line(error)}); "
            "save the model again."
        ) from error
    return str(path)


def _open_pretrained(source: str, options: dict[str, Any]) -> tuple[nn.Module, Any]:
    import transformers
    from transformers import AutoConfig, AutoModel

    code = {name: options[name] for name in ("trust_remote_code",) if name in options}
    try:
        configuration = AutoConfig.from_pretrained(source, **code)
    except (OSError, ValueError, KeyError) as error:
        raise UnknownModel(cannot_open(source, error)) from error
    architecture = (configuration.architectures or [None])[0]
    # the class the model was saved as keeps its heads, so that it can fill in and continue text
    family = getattr(transformers, architecture or "", None) or AutoModel
    try:
        model = family.from_pretrained(source, config=configuration, **options)
    except Exception as error:  # readers of damaged files raise whatever they stumble over
        raise HeadscopeError(
            f"The weights of {source} cannot be loaded ({_first_line(error)}); "
            "download or save the model again."
        ) from error
    return model, open_tokenizer(source, code)


def open_tokenizer(source: str, options: dict[str, Any] | None = None) -> Any:
    """The text tokenizer, or None for models that read pictures or sound."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(source, **(options or {}))
    except (OSError, ValueError, KeyError, ImportError, TypeError):
        return None


def _open_gguf(path: Path, options: dict[str, Any]) -> tuple[nn.Module, Any]:
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
        model = AutoModelForCausalLM.from_pretrained(**place, **options)
        tokenizer = AutoTokenizer.from_pretrained(**place)
    except Exception as error:  # as above
        raise HeadscopeError(
            f"The GGUF file {path} cannot be read ({_first_line(error)}); "
            "its architecture may be unknown to transformers, or the file is damaged."
        ) from error
    return model, tokenizer


def cannot_open(source: str, error: Exception) -> str:
    """The sentence for a folder that is no model, or a name nobody knows."""
    if Path(source).is_dir():
        return f"The folder {source} is not a model transformers can open ({_first_line(error)})."
    return (
        f"There is no model {source!r} here, and it could not be fetched from the hub; "
        "check the name and the connection, or give the folder of a model you have."
    )


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")[:200]
