"""Whisper as OpenAI publishes it: a .pt checkpoint, with the ranks of its byte pairs beside it."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.errors import BadInput
from headscope.studies.whisper.network import network, opened

if TYPE_CHECKING:
    from headscope.reading import Scope

RANKS = "gpt2.tiktoken"  # of the package openai-whisper, for English models
# the alignment heads in the package's code, as (layer, head)
PUBLISHED: dict[str, tuple[tuple[int, int], ...]] = {
    "tiny.en": ((1, 0), (2, 0), (2, 5), (3, 0), (3, 1), (3, 2), (3, 3), (3, 4)),
    "base": ((3, 1), (4, 2), (4, 3), (4, 7), (5, 1), (5, 2), (5, 4), (5, 6)),
}
RENAMED = (
    ("blocks", "layers"), ("mlp.0", "fc1"), ("mlp.2", "fc2"), ("mlp_ln", "final_layer_norm"),
    (".attn.query", ".self_attn.q_proj"), (".attn.key", ".self_attn.k_proj"),
    (".attn.value", ".self_attn.v_proj"), (".attn.out", ".self_attn.out_proj"),
    ("cross_attn.query", "encoder_attn.q_proj"), ("cross_attn.key", "encoder_attn.k_proj"),
    ("cross_attn.value", "encoder_attn.v_proj"), ("cross_attn.out", "encoder_attn.out_proj"),
    ("cross_attn_ln", "encoder_attn_layer_norm"), ("attn_ln", "self_attn_layer_norm"),
    ("decoder.ln.", "decoder.layer_norm."), ("encoder.ln_post.", "encoder.layer_norm."),
    ("token_embedding", "embed_tokens"),
    ("encoder.positional_embedding", "encoder.embed_positions.weight"),
    ("decoder.positional_embedding", "decoder.embed_positions.weight"),
)  # fmt: skip


def open_model(model: str | None, device: str | None = None, *rest: Any) -> Scope:
    """Open an English .pt checkpoint, a folder of CTranslate2, or a model that `hs.load` opens."""
    if model is None:
        raise BadInput(
            "The study reads a Whisper; give OpenAI's tiny.en.pt, or a folder of faster-whisper or "
            "transformers, with --model."
        )
    if (Path(model) / "model.bin").is_file():
        from headscope.studies.whisper.ctranslate import ctranslate_whisper

        return ctranslate_whisper(Path(model), device)
    if not model.endswith(".pt"):
        from headscope.reading import load

        dtype, trusted = rest or (None, False)
        return load(model, device=device, dtype=dtype, trust_remote_code=bool(trusted))
    return openai_whisper(Path(model), device)


def openai_whisper(path: Path, device: str | None = None) -> Scope:
    """A checkpoint in OpenAI's format; the file of byte-pair ranks lies beside it."""
    import torch

    if not path.is_file() or not path.with_name(RANKS).is_file():
        raise BadInput(
            f"{path} and {path.with_name(RANKS)} are both needed, and one is missing; "
            "put both into the same folder."
        )
    kept: Any = torch.load(path, map_location="cpu", weights_only=True)
    sizes = kept["dims"]
    if sizes["n_vocab"] != 51864:
        raise BadInput(f"{path.name} is not an English model: it has {sizes['n_vocab']} tokens.")
    state = {_renamed(name): tensor.float() for name, tensor in kept["model_state_dict"].items()}
    name = path.name.removesuffix(".pt")
    return opened(
        network(state, sizes["n_audio_head"], sizes["n_text_head"], 50256, 50257),
        english_tokenizer(path.with_name(RANKS)), f"whisper-{name}", PUBLISHED.get(name), device,
    )  # fmt: skip


def _renamed(name: str) -> str:
    for theirs, ours in RENAMED:
        name = name.replace(theirs, ours)
    return name


def english_tokenizer(path: Path) -> Any:
    """GPT-2's byte pairs from their ranks, and Whisper's marks after them."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    letters: Any = bytes_to_unicode()
    ranks = {
        base64.b64decode(line.split()[0]): int(line.split()[1])
        for line in path.read_text("ascii").splitlines()
        if line
    }

    def spelled(piece: bytes) -> str:
        return "".join(letters[byte] for byte in piece)

    halves = [_halves(ranks, piece) for piece in ranks if len(piece) > 1]
    merges = [(spelled(first), spelled(second)) for first, second in halves]
    vocabulary = {spelled(piece): rank for piece, rank in ranks.items()}
    made = Tokenizer(models.BPE(vocabulary, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    marks = ["<|endoftext|>", "<|startoftranscript|>", *(f"<|{n}|>" for n in range(99)),
             "<|translate|>", "<|transcribe|>", "<|startoflm|>", "<|startofprev|>",
             "<|nospeech|>", "<|notimestamps|>"]  # fmt: skip
    made.add_special_tokens([AddedToken(mark, special=True) for mark in marks])
    ids = {mark: made.token_to_id(mark) for mark in (marks[0], marks[1], marks[-1])}
    made.post_processor = processors.TemplateProcessing(
        single=f"{marks[1]} {marks[-1]} $A {marks[0]}", special_tokens=list(ids.items())
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token=marks[0], pad_token=marks[0], bos_token=marks[1]
    )


def _halves(ranks: dict[bytes, int], piece: bytes) -> tuple[bytes, bytes]:
    """The two pieces that were merged last: merge byte pairs by rank, without the piece's own."""
    parts = [bytes([byte]) for byte in piece]
    most = ranks[piece]
    while len(parts) > 2:
        pairs = [ranks.get(parts[at] + parts[at + 1], most) for at in range(len(parts) - 1)]
        at = min(range(len(pairs)), key=pairs.__getitem__)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts[0], parts[1]
