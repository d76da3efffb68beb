"""Tiny random models of pictures and text that cut pictures into tiles, or look with queries."""

from __future__ import annotations

from typing import Any

import transformers as t

import headscope as hs
from tests.reading.media.vision_models import (
    IMAGE,
    SQUARE,
    TEXT,
    VISION,
    TextAndPictures,
    scope_of,
    stretched,
)
from tests.tiny import tiny_tokenizer

QUERIES = 5


def _mask() -> Any:
    return tiny_tokenizer().mask_token_id


def blip2() -> hs.Scope:
    text = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    reads = t.OPTConfig(**text, ffn_dim=64, word_embed_proj_dim=32, max_position_embeddings=64)
    looks = t.Blip2QFormerConfig(
        **text, intermediate_size=64, cross_attention_frequency=1, encoder_hidden_size=32
    )
    configuration = t.Blip2Config(
        vision_config=t.Blip2VisionConfig(**VISION),
        qformer_config=looks,
        text_config=reads,
        num_query_tokens=QUERIES,
        image_token_index=_mask(),
    )
    model = t.Blip2ForConditionalGeneration(configuration)
    model.query_tokens.data.normal_()
    return scope_of(model, TextAndPictures(stretched(), lambda _: QUERIES))


def blip2_t5() -> hs.Scope:
    """BLIP-2 whose language model has an encoder and a decoder."""
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    configuration = t.Blip2Config(
        vision_config=t.Blip2VisionConfig(**VISION),
        qformer_config=t.Blip2QFormerConfig(
            **sizes, intermediate_size=64, cross_attention_frequency=1, encoder_hidden_size=32
        ),
        text_config=t.T5Config(
            vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
            decoder_start_token_id=0,
        ),
        num_query_tokens=QUERIES,
        image_token_index=_mask(),
    )  # fmt: skip
    model = t.Blip2ForConditionalGeneration(configuration)
    return scope_of(model, TextAndPictures(stretched(), lambda _: QUERIES))


class Instructed(TextAndPictures):
    """InstructBLIP's queries read the question too, through a tokenizer of their own."""

    def __call__(self, text: str, images: list[Any], return_tensors: str) -> dict[str, Any]:
        asked = self.tokenizer(text.replace(IMAGE, "").strip() or "a", return_tensors="pt")
        made = super().__call__(text, images, return_tensors)
        mask = asked["attention_mask"]
        return {**made, "qformer_input_ids": asked["input_ids"], "qformer_attention_mask": mask}


def instruct_blip() -> hs.Scope:
    text = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    looks = t.InstructBlipQFormerConfig(
        **text, intermediate_size=64, cross_attention_frequency=1, encoder_hidden_size=32
    )
    configuration = t.InstructBlipConfig(
        vision_config=t.InstructBlipVisionConfig(**VISION),
        qformer_config=looks,
        text_config=t.LlamaConfig(**TEXT),
        num_query_tokens=QUERIES,
        image_token_index=_mask(),
    )
    model = t.InstructBlipForConditionalGeneration(configuration)
    model.query_tokens.data.normal_()
    return scope_of(model, Instructed(stretched(), lambda _: QUERIES))


def llava_next() -> hs.Scope:
    pinpoints = [[32, 64], [64, 32], [64, 64]]
    configuration = t.LlavaNextConfig(
        vision_config=t.CLIPVisionConfig(**VISION),
        text_config=t.LlamaConfig(**TEXT),
        image_token_index=_mask(),
        image_grid_pinpoints=pinpoints,
    )
    pictures = t.LlavaNextImageProcessorPil(
        size={"shortest_edge": 32}, crop_size=SQUARE, image_grid_pinpoints=pinpoints
    )
    model = t.LlavaNextForConditionalGeneration(configuration)
    # a picture of 100 × 60 in 64 × 32: the whole, then 4 × 8 patches less padding, and row ends
    return scope_of(model, TextAndPictures(pictures, lambda made: _llava_tokens(model, made)))


def _llava_tokens(model: Any, made: Any) -> int:
    import torch

    pixels = torch.as_tensor(made["pixel_values"])
    found = model.model.get_image_features(
        pixels, image_sizes=torch.as_tensor(made["image_sizes"]), return_dict=True
    )
    return sum(len(one) for one in found.pooler_output)


def internvl() -> hs.Scope:
    configuration = t.InternVLConfig(
        vision_config=t.InternVLVisionConfig(**VISION),
        text_config=t.Qwen2Config(**TEXT),
        image_token_id=_mask(),
        image_seq_length=4,
    )
    pictures = t.GotOcr2ImageProcessorPil(
        size=SQUARE, crop_to_patches=True, min_patches=1, max_patches=4
    )
    model = t.InternVLForConditionalGeneration(configuration)
    return scope_of(model, TextAndPictures(pictures, lambda made: 4 * len(made["pixel_values"])))


def idefics3() -> hs.Scope:
    configuration = t.Idefics3Config(
        vision_config=t.Idefics3VisionConfig(**VISION),
        text_config=t.LlamaConfig(**TEXT),
        image_token_id=_mask(),
        scale_factor=2,
    )
    pictures = t.Idefics3ImageProcessorPil(
        size={"longest_edge": 64}, max_image_size={"longest_edge": 32}
    )
    model = t.Idefics3ForConditionalGeneration(configuration)
    return scope_of(
        model, TextAndPictures(pictures, lambda made: 4 * made["pixel_values"].shape[1])
    )
