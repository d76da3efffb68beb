"""Tiny random models that see and hear, each with a processor of its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers as t

import headscope as hs
from tests.tiny import spread, tiny_tokenizer

t.logging.set_verbosity_error()
IMAGE = "[MASK]"  # a token of the tiny vocabulary that stands for a piece of a picture here
VISION = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 32,
    "patch_size": 8,
}
TEXT = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "pad_token_id": 0,
}
SQUARE = {"height": 32, "width": 32}


class TextAndPictures:
    """What every processor of image-and-text models does: a place for each piece of a picture."""

    image_token = IMAGE

    def __init__(self, image_processor: Any, count: Callable[[Any], int], **more: Any) -> None:
        self.image_processor, self.tokenizer = image_processor, tiny_tokenizer()
        self._count, self._more = count, more

    def __call__(self, text: str, images: list[Any], return_tensors: str) -> dict[str, Any]:
        pictures = self.image_processor(images=images, return_tensors=return_tensors)
        told = text.replace(IMAGE, f"{IMAGE} " * self._count(pictures), 1)
        words = self.tokenizer(told, return_tensors=return_tensors)
        ids = words["input_ids"]
        made = {**pictures, "input_ids": ids, "attention_mask": torch.ones_like(ids)}
        pieces = (ids == self.tokenizer.mask_token_id).long()
        return {**made, **dict.fromkeys(self._more.get("types", ()), pieces)}


def scope_of(model: Any, processor: Any, tokenizer: Any = None) -> hs.Scope:
    spread(model)
    if isinstance(processor, TextAndPictures):
        tokenizer = tiny_tokenizer()
    return hs.load(model.eval(), tokenizer, processor=processor)


def clip_processor() -> Any:
    return t.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=SQUARE)


def stretched() -> Any:
    return t.ViTImageProcessorPil(size=SQUARE)


def vit(across: int = 4) -> hs.Scope:
    """So many patches across and down."""
    size = across * VISION["patch_size"]
    configuration = t.ViTConfig(**{**VISION, "image_size": size})
    processor = t.ViTImageProcessorPil(size={"height": size, "width": size})
    return scope_of(t.ViTModel(configuration), processor)


def deit() -> hs.Scope:
    larger = t.DeiTImageProcessorPil(size={"height": 36, "width": 36}, crop_size=SQUARE)
    return scope_of(t.DeiTModel(t.DeiTConfig(**VISION)), larger)


def dino() -> hs.Scope:
    sizes = {name: VISION[name] for name in VISION if name != "intermediate_size"}
    configuration = t.Dinov2WithRegistersConfig(**sizes, num_register_tokens=3)
    return scope_of(t.Dinov2WithRegistersModel(configuration), clip_processor())


def beit() -> hs.Scope:
    configuration = t.BeitConfig(**VISION, use_relative_position_bias=True)
    return scope_of(t.BeitModel(configuration), t.BeitImageProcessorPil(size=SQUARE))


def clip() -> hs.Scope:
    text = {name: TEXT[name] for name in ("vocab_size", "hidden_size", "intermediate_size")}
    configuration = t.CLIPConfig(
        text_config={**text, "num_hidden_layers": 2, "num_attention_heads": 4},
        vision_config=VISION,
        projection_dim=16,
    )
    return scope_of(t.CLIPModel(configuration), clip_processor(), tiny_tokenizer())


def siglip() -> hs.Scope:
    text = {name: TEXT[name] for name in ("vocab_size", "hidden_size", "intermediate_size")}
    configuration = t.SiglipConfig(
        text_config={**text, "num_hidden_layers": 2, "num_attention_heads": 4},
        vision_config=VISION,
    )
    processor = t.SiglipImageProcessorPil(size=SQUARE)
    return scope_of(t.SiglipModel(configuration), processor, tiny_tokenizer())


def swin() -> hs.Scope:
    configuration = t.SwinConfig(
        image_size=32, patch_size=4, embed_dim=8, depths=[2, 2], num_heads=[2, 4], window_size=4
    )
    return scope_of(t.SwinModel(configuration), stretched())


def detr() -> hs.Scope:
    backbone = t.ResNetConfig(
        hidden_sizes=[8] * 4, depths=[1] * 4, embedding_size=8, out_features=["stage4"]
    )
    configuration = t.DetrConfig(
        use_timm_backbone=False,
        use_pretrained_backbone=False,
        backbone=None,
        backbone_config=backbone,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        num_queries=5,
    )
    size = {"shortest_edge": 96, "longest_edge": 200}
    return scope_of(t.DetrModel(configuration), t.DetrImageProcessorPil(size=size))


def llava() -> hs.Scope:
    configuration = t.LlavaConfig(
        vision_config=t.CLIPVisionConfig(**VISION),
        text_config=t.LlamaConfig(**TEXT),
        image_token_index=tiny_tokenizer().mask_token_id,
    )
    model = t.LlavaForConditionalGeneration(configuration)
    return scope_of(model, TextAndPictures(clip_processor(), lambda _: 16))


def gemma3() -> hs.Scope:
    configuration = t.Gemma3Config(
        vision_config=t.SiglipVisionConfig(**VISION),
        text_config=t.Gemma3TextConfig(**TEXT),
        image_token_index=tiny_tokenizer().mask_token_id,
        mm_tokens_per_image=4,
    )
    model = t.Gemma3ForConditionalGeneration(configuration)
    return scope_of(model, TextAndPictures(stretched(), lambda _: 4, types=("token_type_ids",)))


def paligemma() -> hs.Scope:
    configuration = t.PaliGemmaConfig(
        vision_config=t.SiglipVisionConfig(**VISION),
        text_config=t.GemmaConfig(**TEXT),
        image_token_index=tiny_tokenizer().mask_token_id,
        projection_dim=32,
    )
    model = t.PaliGemmaForConditionalGeneration(configuration)
    return scope_of(model, TextAndPictures(stretched(), lambda _: 16, types=("token_type_ids",)))


def _qwen_processor() -> TextAndPictures:
    pictures = t.Qwen2VLImageProcessorPil(
        patch_size=8, merge_size=2, min_pixels=16 * 16, max_pixels=48 * 48
    )
    return TextAndPictures(
        pictures, lambda made: len(made["pixel_values"]) // 4, types=("mm_token_type_ids",)
    )


def _qwen_ids() -> dict[str, int]:
    return {
        "image_token_id": tiny_tokenizer().mask_token_id,
        "vision_start_token_id": 1,
        "vision_end_token_id": 2,
    }


ROTARY = {"rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 2]}}


def qwen2_vl() -> hs.Scope:
    vision = {"depth": 2, "embed_dim": 32, "num_heads": 4, "hidden_size": 32, "mlp_ratio": 2}
    configuration = t.Qwen2VLConfig(
        vision_config={**vision, "patch_size": 8}, text_config={**TEXT, **ROTARY}, **_qwen_ids()
    )
    return scope_of(t.Qwen2VLForConditionalGeneration(configuration), _qwen_processor())


def qwen25_vl() -> hs.Scope:
    vision = {"depth": 2, "hidden_size": 32, "num_heads": 4, "out_hidden_size": 32}
    windows = {"patch_size": 8, "intermediate_size": 64, "window_size": 32}
    configuration = t.Qwen2_5_VLConfig(
        vision_config={**vision, **windows, "fullatt_block_indexes": [1]},
        text_config={**TEXT, **ROTARY},
        **_qwen_ids(),
    )
    return scope_of(t.Qwen2_5_VLForConditionalGeneration(configuration), _qwen_processor())


def whisper() -> hs.Scope:
    configuration = t.WhisperConfig(
        vocab_size=64,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        num_mel_bins=16,
        max_source_positions=50,
        decoder_start_token_id=1,
        pad_token_id=0,
        eos_token_id=2,
        bos_token_id=1,
    )
    extractor = t.WhisperFeatureExtractor(feature_size=16, chunk_length=1)
    model = t.WhisperForConditionalGeneration(configuration)
    spread(model)
    return hs.load(model.eval(), tiny_tokenizer(), processor=extractor)


def wav2vec2() -> hs.Scope:
    configuration = t.Wav2Vec2Config(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        conv_dim=(8, 8),
        conv_stride=(20, 16),
        conv_kernel=(20, 16),
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=2,
    )
    return scope_of(t.Wav2Vec2Model(configuration), t.Wav2Vec2FeatureExtractor())


def ast() -> hs.Scope:
    configuration = t.ASTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_length=64,
        num_mel_bins=32,
    )
    extractor = t.ASTFeatureExtractor(max_length=64, num_mel_bins=32)
    return scope_of(t.ASTModel(configuration), extractor)
