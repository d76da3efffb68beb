"""A Whisper of transformers from weights in another format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.reading import Scope


def network(state: dict[str, Tensor], encoder_heads: int, heads: int, end: int, start: int) -> Any:
    """A Whisper of transformers with these weights; its sizes come from their shapes."""
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    def layers(part: str) -> int:
        return 1 + max(int(name.split(".")[2]) for name in state if f"{part}.layers." in name)

    words, width = state["decoder.embed_tokens.weight"].shape
    configuration = WhisperConfig(
        vocab_size=words, d_model=width, num_mel_bins=state["encoder.conv1.weight"].shape[1],
        encoder_layers=layers("encoder"), encoder_attention_heads=encoder_heads,
        decoder_layers=layers("decoder"), decoder_attention_heads=heads,
        encoder_ffn_dim=4 * width, decoder_ffn_dim=4 * width,
        max_source_positions=len(state["encoder.embed_positions.weight"]),
        max_target_positions=len(state["decoder.embed_positions.weight"]),
        pad_token_id=end, bos_token_id=end, eos_token_id=end, decoder_start_token_id=start,
    )  # fmt: skip
    configuration._attn_implementation = "eager"  # pyright: ignore[reportPrivateUsage]
    made = WhisperForConditionalGeneration(configuration).eval()
    weights = {f"model.{name}": tensor for name, tensor in state.items()}
    weights["proj_out.weight"] = state["decoder.embed_tokens.weight"]
    made.load_state_dict(weights)
    return made


def opened(
    model: Any,
    tokenizer: Any,
    name: str,
    heads: Sequence[Sequence[int]] | None,
    device: str | None,
) -> Scope:
    """The model with its features; `heads` are those that its makers published."""
    from transformers import WhisperFeatureExtractor

    from headscope.reading import load

    model.generation_config.alignment_heads = [list(one) for one in heads] if heads else None
    extractor = WhisperFeatureExtractor(feature_size=model.config.num_mel_bins)
    return load(model.to(device or "cpu"), tokenizer, processor=extractor, name=name)
