"""Families that most functions refuse, tiny and random: one mechanism meets what each lacks."""

from __future__ import annotations

from typing import Any

import torch
import transformers as t

import headscope as hs
from tests.tiny import VOCABULARY, spread, tiny_tokenizer

SIZES: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
}  # fmt: skip
TEXT = {**SIZES, "vocab_size": VOCABULARY, "max_position_embeddings": 64}
TOWER = {**SIZES, "image_size": 32, "patch_size": 8}
ENDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def blt() -> Any:
    sizes = {**TEXT, "num_key_value_heads": 4, "max_position_embeddings": 128}
    config = t.BltConfig(
        vocab_size=VOCABULARY, patch_size=4, patch_in_forward=True, cross_attn_k=2,
        encoder_hash_byte_group_size=[2, 3], encoder_hash_byte_group_vocab=64,
        encoder_hash_byte_group_nb_functions=1, patcher_config=sizes, global_config=sizes,
        encoder_config={**sizes, "cross_attn_k": 2, "cross_attn_all_layers": False},
        decoder_config={**sizes, "cross_attn_k": 2},
    )  # fmt: skip
    return t.BltForCausalLM(config)


def chameleon() -> Any:
    words = {"<image>": 4, **{f"IMGIMG{letter}": 5 + at for at, letter in enumerate("ABCD")}}
    pictures = {
        "embed_dim": 8, "num_embeddings": 4, "latent_channels": 8, "base_channels": 32,
        "channel_multiplier": [1, 2], "num_res_blocks": 1, "resolution": 32,
    }  # fmt: skip
    config = t.ChameleonConfig(
        **TEXT, num_key_value_heads=2, vocabulary_map=words, vq_config=pictures
    )
    return t.ChameleonForConditionalGeneration(config)


def diffusion_gemma() -> Any:
    from transformers import DiffusionGemmaConfig, DiffusionGemmaForBlockDiffusion

    text = DiffusionGemmaConfig.sub_configs["text_config"](
        **TEXT, **ENDS, num_key_value_heads=2, head_dim=8, global_head_dim=8,
        num_global_key_value_heads=2, layer_types=["sliding_attention", "full_attention"],
        num_experts=4, top_k_experts=2, moe_intermediate_size=16,
    )  # fmt: skip
    config = DiffusionGemmaConfig(text_config=text.to_dict(), canvas_length=4)
    return DiffusionGemmaForBlockDiffusion(config)


def esmfold() -> Any:
    structure = {
        "ipa_dim": 16, "num_blocks": 1, "num_heads_ipa": 4, "pairwise_dim": 16, "resnet_dim": 16,
        "sequence_dim": 48,
    }  # fmt: skip
    trunk = {
        "num_blocks": 1, "sequence_state_dim": 64, "pairwise_state_dim": 32,
        "sequence_head_width": 32, "pairwise_head_width": 32, "position_bins": 4,
        "structure_module": structure,
    }  # fmt: skip
    folding = {"trunk": trunk, "fp16_esm": False, "lddt_head_hid_dim": 16}
    config = t.EsmConfig(
        **TEXT, is_folding_model=True, mask_token_id=32, pad_token_id=0, esmfold_config=folding
    )
    return t.EsmForProteinFolding(config)


def fast_speech_2() -> Any:
    sides = {
        f"{side}_{name}": number
        for side in ("encoder", "decoder")
        for name, number in (("layers", 2), ("num_attention_heads", 2), ("linear_units", 32))
    }
    return t.FastSpeech2ConformerModel(
        t.FastSpeech2ConformerConfig(
            vocab_size=VOCABULARY, hidden_size=24, num_mel_bins=8, max_source_positions=64, **sides
        )
    )


def git() -> Any:
    return t.GitForCausalLM(
        t.GitConfig(**TEXT, bos_token_id=1, eos_token_id=2, vision_config=TOWER)
    )


def grounding_dino() -> Any:
    backbone = t.SwinConfig(
        window_size=7, image_size=64, embed_dim=16, depths=[1, 1, 1, 1], num_heads=[2, 2, 2, 2],
        out_features=["stage2", "stage3", "stage4"],
    )  # fmt: skip
    config = t.GroundingDinoConfig(
        d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=32, decoder_ffn_dim=32, num_queries=4,
        max_text_len=32, text_config={**TEXT, "model_type": "bert"}, backbone_config=backbone,
    )  # fmt: skip
    return t.GroundingDinoForObjectDetection(config)


def kosmos_2() -> Any:
    text = {
        "vocab_size": VOCABULARY, "embed_dim": 32, "layers": 2, "ffn_dim": 64,
        "attention_heads": 4, "max_position_embeddings": 64,
    }  # fmt: skip
    config = t.Kosmos2Config(text_config=text, vision_config=TOWER, latent_query_num=4)
    return t.Kosmos2ForConditionalGeneration(config)


def seamless_m4t_v2() -> Any:
    sides = {
        f"{side}_{name}": number
        for side in ("encoder", "decoder")
        for name, number in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 64))
    }
    config = t.SeamlessM4Tv2Config(
        vocab_size=VOCABULARY, hidden_size=32, max_position_embeddings=64, pad_token_id=0,
        decoder_start_token_id=2, t2u_vocab_size=64, unit_hifi_gan_vocab_size=64,
        speech_encoder_layers=1, t2u_encoder_layers=1, t2u_decoder_layers=1, **sides,
    )  # fmt: skip
    return t.SeamlessM4Tv2ForTextToText(config)


def siglip_2_naflex() -> Any:
    tower = {**SIZES, "num_patches": 16, "patch_size": 8}
    return t.Siglip2Model(
        t.Siglip2Config(text_config={**TEXT, "pad_token_id": 0}, vision_config=tower)
    )


def video_prism_text() -> Any:
    return t.VideoPrismTextModel(t.VideoPrismTextConfig(**TEXT))


def nystromformer() -> Any:
    return t.NystromformerForMaskedLM(t.NystromformerConfig(**TEXT))


def ax_k2() -> Any:
    """With fewer keys chosen by its index than a text has."""
    config = t.AXK2Config(
        **TEXT, num_key_value_heads=4, moe_intermediate_size=16, n_routed_experts=4,
        num_experts_per_tok=2, n_group=1, topk_group=1, kv_lora_rank=16, q_lora_rank=16,
        qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8, index_topk=4, index_head_dim=16,
        index_n_heads=2,
    )  # fmt: skip
    return t.AXK2ForCausalLM(config)


def dbrx() -> Any:
    config = t.DbrxConfig(
        d_model=32, n_heads=4, n_layers=2, max_seq_len=64, vocab_size=VOCABULARY, **ENDS,
        attn_config={"kv_n_heads": 2, "clip_qkv": 8, "rope_theta": 10000.0},
        ffn_config={"ffn_hidden_size": 32, "moe_num_experts": 4, "moe_top_k": 2},
    )  # fmt: skip
    return t.DbrxForCausalLM(config)


def jet_moe() -> Any:
    return t.JetMoeForCausalLM(
        t.JetMoeConfig(
            **TEXT,
            **ENDS,
            num_key_value_heads=2,
            kv_channels=8,
            num_local_experts=4,
            num_experts_per_tok=2,
        )
    )


def modernbert_decoder() -> Any:
    ends = {**ENDS, "cls_token_id": 1, "sep_token_id": 2}
    return t.ModernBertDecoderForCausalLM(
        t.ModernBertDecoderConfig(**TEXT, **ends, local_attention=4)
    )


def longcat_flash() -> Any:
    sizes = {**TEXT, "num_hidden_layers": 4}  # two attentions in each of its layers
    sizes.pop("intermediate_size")
    config = t.LongcatFlashConfig(
        **sizes, **ENDS, num_layers=2, ffn_hidden_size=64, expert_ffn_hidden_size=16, moe_topk=2,
        n_routed_experts=4, zero_expert_num=2, q_lora_rank=16, kv_lora_rank=16, head_dim=8,
        qk_nope_head_dim=8, qk_rope_head_dim=8, v_head_dim=8,
    )  # fmt: skip
    return t.LongcatFlashForCausalLM(config)


def vault_gemma() -> Any:
    return t.VaultGemmaForCausalLM(
        t.VaultGemmaConfig(
            **TEXT, **ENDS, num_key_value_heads=2, head_dim=8, query_pre_attn_scalar=8
        )
    )


def ctrl() -> Any:
    return t.CTRLLMHeadModel(
        t.CTRLConfig(vocab_size=VOCABULARY, n_positions=64, n_embd=32, dff=64, n_layer=2, n_head=4)
    )


def flaubert() -> Any:
    config = t.FlaubertConfig(
        vocab_size=VOCABULARY, emb_dim=32, n_layers=2, n_heads=4, max_position_embeddings=64,
        pad_index=0, bos_index=1, eos_index=2, mask_index=4,
    )  # fmt: skip
    return t.FlaubertWithLMHeadModel(config)


def mobilebert() -> Any:
    config = t.MobileBertConfig(
        **TEXT, embedding_size=32, intra_bottleneck_size=32, num_feedforward_networks=1
    )
    return t.MobileBertForMaskedLM(config)


def splinter() -> Any:
    """Answers questions: a text without its question token is refused by the model itself."""
    return t.SplinterForPreTraining(t.SplinterConfig(**TEXT, question_token_id=4))


def canine() -> Any:
    sizes = {**SIZES, "max_position_embeddings": 256, "num_hash_buckets": 64}
    return t.CanineModel(t.CanineConfig(**sizes, local_transformer_stride=16))


def zaya() -> Any:
    return t.ZayaForCausalLM(
        t.ZayaConfig(**TEXT, **ENDS, num_key_value_heads=2, head_dim=8, num_experts=4)
    )


def deepseek_v4() -> Any:
    config = t.DeepseekV4Config(
        **TEXT, **ENDS, num_key_value_heads=1, head_dim=16, moe_intermediate_size=16,
        n_routed_experts=4, num_experts_per_tok=2, q_lora_rank=16, qk_rope_head_dim=8,
    )  # fmt: skip
    return t.DeepseekV4ForCausalLM(config)


def beam() -> Any:
    config = t.BeamConfig(
        **TEXT, **ENDS, num_key_value_heads=2, head_dim=8, moe_intermediate_size=16, num_experts=4,
        num_experts_per_tok=2, n_group=2, topk_group=1, sliding_window=4,
        mlp_layer_types=["dense", "sparse"],
    )  # fmt: skip
    return t.BeamForCausalLM(config)


def _pali_config() -> Any:
    text = {**TEXT, **ENDS, "model_type": "gemma", "num_key_value_heads": 1, "head_dim": 8}
    vision = {**TOWER, "model_type": "siglip_vision_model", "vision_use_head": False}
    return t.PaliGemmaConfig(
        vision_config=vision, text_config=text, image_token_index=VOCABULARY - 1,
        vocab_size=VOCABULARY, projection_dim=32, hidden_size=32,
    )  # fmt: skip


def paligemma() -> Any:
    return t.PaliGemmaForConditionalGeneration(_pali_config())


def colpali() -> Any:
    return t.ColPaliForRetrieval(t.ColPaliConfig(vlm_config=_pali_config(), embedding_dim=8))


DECODERS = (
    beam, dbrx, jet_moe, modernbert_decoder, longcat_flash, vault_gemma, ctrl, zaya, deepseek_v4
)  # fmt: skip
ODD = (
    blt, chameleon, diffusion_gemma, esmfold, fast_speech_2, git, grounding_dino, kosmos_2,
    seamless_m4t_v2, siglip_2_naflex, video_prism_text, nystromformer, ax_k2,
    flaubert, mobilebert, splinter, canine, paligemma, colpali, *DECODERS,
)  # fmt: skip


def odd_scope(make: Any) -> hs.Scope:
    torch.manual_seed(0)
    model = make().eval()
    spread(model)
    return hs.load(model, tiny_tokenizer(), name=make.__name__)
