"""Open a model by name, folder, adapter or GGUF file, with clear errors."""

from __future__ import annotations

import functools
import importlib.metadata
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from headscope.errors import BadInput, HeadscopeError, first_line
from headscope.json_text import parse_json
from headscope.models.limits import embedded_tokens
from headscope.models.placement import BITS, dtype_of, keep_unpacked, on_device, quantised_options
from headscope.models.tokenizer_files import ADAPTER, open_tokenizer


@dataclass(frozen=True)
class Opened:
    """A model in evaluation mode, its tokenizer (None: it reads no text), and the name to show."""

    model: nn.Module
    tokenizer: Any
    name: str


def open_model(
    name: str | Path | None,
    tokenizer: Any = None,
    *,
    device: str | torch.device | None = None,
    dtype: torch.dtype | str | None = None,
    trust_remote_code: bool = False,
    **pretrained: Any,
) -> Opened:
    """`tokenizer` replaces the one that was saved with the model.

    `pretrained` are further options of from_pretrained. With a device map, accelerate distributes
    the weights; the device "auto" uses as many devices as they need.
    """
    source = BUNDLED if name is None else shipped(name) or name
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    options = {**_of_dtype(dtype), **{key: v for key, v in pretrained.items() if v is not None}}
    if str(where) == "auto":
        options.setdefault("device_map", "auto")
    elif "quantization_config" in options:
        options.setdefault("device_map", {"": where})  # quantised on the device they will run on
    path = Path(source).expanduser()
    if path.suffix == ".gguf":
        from headscope.models.gguf_file import open_gguf

        model, own = open_gguf(path, options)
    elif name is None and set(options) == {"dtype"}:
        model, own = open_bundled(options["dtype"])
    elif (path / ADAPTER).is_file() and not (path / "config.json").is_file():
        from headscope.models.adapters import open_adapter

        model, own = open_adapter(path, tokenizer, options, trust_remote_code)
    else:
        from headscope.models.pretrained import open_pretrained

        model, own = open_pretrained(model_source(source), tokenizer, options, trust_remote_code)
    keep_unpacked(model)
    if "device_map" not in options:
        model = on_device(model, where, None)
    shown = NAME if name is None else _shown(name)
    own = tokenizer if tokenizer is not None else own
    return Opened(model.eval(), own, shown)


def _of_dtype(dtype: torch.dtype | str | None) -> dict[str, Any]:
    if isinstance(dtype, str) and dtype in BITS:
        return quantised_options(dtype)
    return {"dtype": dtype_of(dtype) or torch.float32}


def open_own_tokenizer(source: str | Path, trust_remote_code: bool) -> Any:
    """A tokenizer from a folder or a model's name, requested separately."""
    path = Path(source).expanduser()
    tokenizer = open_tokenizer(str(path if path.exists() else source), trust_remote_code)
    if tokenizer is None:
        raise BadInput(
            f"There is no tokenizer {str(source)!r} here; give the folder a tokenizer was saved in."
        )
    return tokenizer


def check_fit(model: nn.Module, tokenizer: Any) -> None:
    """A tokenizer of another model gives ids that the embeddings do not have."""
    rows = embedded_tokens(model)
    if rows is not None and len(tokenizer) > rows:
        raise BadInput(
            f"The tokenizer knows {len(tokenizer):,} tokens but the model embeds only {rows:,}; "
            "load the tokenizer that was saved with this model."
        )


def _shown(name: str | Path) -> str:
    text = str(name)
    return Path(text).name if Path(text).exists() else text


def model_source(source: str | Path) -> str:
    """The folder or hub name to open; an existing path without a model raises an error."""
    path = Path(source).expanduser()
    if path.is_file():
        raise BadInput(f"{source} is a file; give a model's folder, a GGUF file or a hub name.")
    if not path.is_dir():
        return str(source)
    configuration = path / "config.json"
    if not configuration.is_file():
        if packed := sorted(path.glob("*.gguf")):
            raise BadInput(
                f"The folder {source} has no config.json, but a GGUF file; give that: {packed[0]}."
            )
        raise BadInput(
            f"The folder {source} holds no model: it has no config.json; "
            "give a folder written by save_pretrained."
        )
    try:
        parse_json(configuration.read_text("utf-8"))
    except (ValueError, OSError) as error:
        raise BadInput(
            f"The file config.json in {source} cannot be read ({first_line(error)}); "
            "save the model again."
        ) from error
    return str(path)


# The installed transformers; older versions give other numbers or none.

LEAST = (5, 10)


@functools.cache
def check_transformers() -> None:
    version = importlib.metadata.version("transformers")
    found = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if found < LEAST:
        raise HeadscopeError(
            f"headscope reads models through transformers {LEAST[0]}.{LEAST[1]} or newer, and "
            f"{version} is installed; run: pip install --upgrade transformers"
        )


# The bundled model, opened without the general machinery: its class and files are known.
#
# `from_pretrained` inspects a folder and converts weights one by one; this uses the file's weights
# directly. A test compares the result with `from_pretrained`.

BUNDLED = Path(__file__).parent / "bundled"
NAME = "headscope-bundled"
NAMED = {"digits": Path(__file__).parent / "digits"}  # small models that are shipped under a name
ABOUT_NAMED = {
    "digits": "a ViT of 292 KB that names handwritten digits on a noisy ground: for pictures",
}
ABOUT = (
    "a small uncased English BERT, trained from scratch on 59 M words of freely licensed prose "
    "(Wikipedia, fiction, textbooks, government texts)"
)


def shipped(name: str | Path) -> Path | None:
    """The folder of a shipped model, unless the working folder has one of that name."""
    return None if Path(name).expanduser().exists() else NAMED.get(str(name))


def open_bundled(dtype: torch.dtype) -> tuple[nn.Module, Any]:
    """The model, in evaluation mode on the CPU, and its tokenizer."""
    from safetensors.torch import load_file
    from transformers import BertConfig, BertForPreTraining, BertTokenizer

    config = BertConfig.from_pretrained(BUNDLED)
    config.dtype = dtype
    config._name_or_path = str(BUNDLED)  # pyright: ignore[reportPrivateUsage]
    with torch.device("meta"):  # the weights come from the file, so none are drawn at random
        model = BertForPreTraining(config)
    weights = load_file(BUNDLED / "model.safetensors")
    model.load_state_dict(
        {name: weight.to(dtype) for name, weight in weights.items()}, strict=False, assign=True
    )
    model.tie_weights()  # input and output embeddings are tied: the file has them once
    model.name_or_path = str(BUNDLED)
    embeddings: Any = model.bert.embeddings
    positions = torch.arange(config.max_position_embeddings)[None]  # in no file: made as BERT does
    embeddings.position_ids, embeddings.token_type_ids = positions, torch.zeros_like(positions)
    return model.eval(), BertTokenizer.from_pretrained(BUNDLED)
