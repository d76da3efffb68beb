"""Whisper in faster-whisper's format: CTranslate2's model.bin, with a tokenizer.json beside it."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.studies.whisper.network import network, opened

if TYPE_CHECKING:
    from headscope.reading import Scope

TYPES = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}
SPELLED = ("q_proj", "k_proj", "v_proj")


def variables(path: Path) -> dict[str, NDArray[Any]]:
    """Every array of the file by its name."""
    with path.open("rb") as file:
        (version,) = struct.unpack("<I", file.read(4))
        if version < 3 or _name(file) != "WhisperSpec":
            raise BadInput(f"{path} is not a Whisper of CTranslate2.")
        _, number = struct.unpack("<II", file.read(8))
        return dict(_array(file) for _ in range(number))


def _name(file: BinaryIO) -> str:
    (length,) = struct.unpack("<H", file.read(2))
    return file.read(length).rstrip(b"\0").decode("utf-8")


def _array(file: BinaryIO) -> tuple[str, NDArray[Any]]:
    name, rank = _name(file), file.read(1)[0]
    shape = struct.unpack(f"<{rank}I", file.read(4 * rank))
    number, size = struct.unpack("<BI", file.read(5))
    if number not in TYPES:
        raise BadInput(f"{name} is stored in a type that is not read (number {number}).")
    return name, np.frombuffer(file.read(size), TYPES[number]).reshape(shape)


def state_of(arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays under the names of transformers."""
    width = arrays["decoder/embeddings/weight"].shape[1]
    made: dict[str, NDArray[Any]] = {}
    for name, array in arrays.items():
        part, *path = name.split("/")
        if path[0].startswith("layer_"):
            if path[0] == "layer_norm":
                made[f"{part}.layer_norm.{_kind(path[-1])}"] = array
                continue
            block, of = path[0].replace("layer_", "layers."), path[1]
            end = _kind(path[-1])
            if path[2] == "layer_norm":
                norm = {"ffn": "final", "attention": "encoder_attn", "self_attention": "self_attn"}
                made[f"{part}.{block}.{norm[of]}_layer_norm.{end}"] = array
            elif of == "ffn":
                made[f"{part}.{block}.fc{int(path[2][-1]) + 1}.{end}"] = array
            else:
                called = "encoder_attn" if of == "attention" else "self_attn"
                for projection, rows in _projections(of, int(path[2][-1]), array, width):
                    if (projection, end) != ("k_proj", "bias"):  # zeros; Whisper has none
                        made[f"{part}.{block}.{called}.{projection}.{end}"] = rows
        elif path[0].startswith("conv"):
            made[f"{part}.{path[0]}.{path[1]}"] = array
        elif path[0] == "embeddings":
            made[f"{part}.embed_tokens.weight"] = array
        elif path[0] == "position_encodings":
            made[f"{part}.embed_positions.weight"] = array
    return made


def _kind(name: str) -> str:
    return {"gamma": "weight", "beta": "bias"}.get(name, name)


def _projections(
    of: str, number: int, array: NDArray[Any], width: int
) -> list[tuple[str, NDArray[Any]]]:
    """Split an array of queries, keys and values, or of keys and values."""
    last = 1 if of == "self_attention" else 2
    if number == last:
        return [("out_proj", array)]
    parts = [array[start : start + width] for start in range(0, len(array), width)]
    first = 0 if of == "self_attention" or number == 0 else 1
    return list(zip(SPELLED[first:], parts, strict=False))


def ctranslate_whisper(folder: Path, device: str | None = None) -> Scope:
    """A folder with model.bin, config.json and tokenizer.json."""
    import torch
    from transformers import WhisperTokenizerFast  # pyright: ignore[reportAttributeAccessIssue]

    missing = [one for one in ("config.json", "tokenizer.json") if not (folder / one).is_file()]
    if missing:
        raise BadInput(f"{folder} lacks {' and '.join(missing)}; put each beside model.bin.")
    arrays = variables(folder / "model.bin")
    state = {name: torch.tensor(array).float() for name, array in state_of(arrays).items()}
    file = folder / "tokenizer.json"
    added = json.loads(file.read_text("utf-8"))["added_tokens"]
    several = len(state["decoder.embed_tokens.weight"]) >= 51865  # languages and tasks
    tokenizer: Any = WhisperTokenizerFast(
        tokenizer_file=str(file),
        additional_special_tokens=[one["content"] for one in added if one["special"]],
        eos_token="<|endoftext|>", bos_token="<|endoftext|>",
        **({"language": "en", "task": "transcribe"} if several else {}),
    )  # fmt: skip
    end, start = tokenizer.convert_tokens_to_ids(["<|endoftext|>", "<|startoftranscript|>"])
    heads = json.loads((folder / "config.json").read_text("utf-8")).get("alignment_heads")
    model = network(
        state, int(arrays["encoder/num_heads"]), int(arrays["decoder/num_heads"]), end, start
    )  # fmt: skip
    name = f"whisper-{folder.name.removeprefix('whisper-')}"
    return opened(model, tokenizer, name, heads, device)
