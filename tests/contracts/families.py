"""The architecture matrix: every family capture is held to, each as a tiny random model.

`python -m tests.contracts.families_page > docs/families.md` writes the table users read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from tests.contracts.sizes import gpt, grouped, picture, t5, two_stacks, usual

Reads = Literal["text", "text to text", "picture", "sound", "waveform"]


@dataclass(frozen=True)
class Family:
    """One configuration: the class, what makes it small, and what is special about it."""

    name: str
    architecture: str
    sizes: dict[str, Any] = field(default_factory=dict[str, Any])
    notes: str = ""
    reads: Reads = "text"
    length: int = 9
    own_form: Literal["weights", "scores", "band"] = "weights"  # of its output_attentions
    paths_agree: bool = True  # transformers' sdpa and eager code of the family compute the same


_SLIDING = ["sliding_attention", "full_attention"]

FAMILIES: tuple[Family, ...] = (
    # encoders
    Family("BERT", "BertForPreTraining", usual()),
    Family("RoBERTa", "RobertaForMaskedLM", usual()),
    Family("XLM-R", "XLMRobertaForMaskedLM", usual()),
    Family("CamemBERT", "CamembertForMaskedLM", usual()),
    Family(
        "DistilBERT",
        "DistilBertForMaskedLM",
        {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "max_position_embeddings": 64},
    ),
    Family(
        "ALBERT",
        "AlbertForMaskedLM",
        usual(num_hidden_layers=3, embedding_size=16),
        "one module runs every layer",
    ),
    Family("ELECTRA", "ElectraForPreTraining", usual(embedding_size=16)),
    Family(
        "ModernBERT",
        "ModernBertForMaskedLM",
        usual(local_attention=4, global_attn_every_n_layers=2, cls_token_id=1, sep_token_id=2),
        "rotary positions; local layers",
    ),
    Family(
        "ESM",
        "EsmForMaskedLM",
        usual(position_embedding_type="rotary", mask_token_id=3),
        "rotary positions",
    ),
    Family("RoFormer", "RoFormerForMaskedLM", usual(embedding_size=16), "rotary positions"),
    Family(
        "ConvBERT",
        "ConvBertForMaskedLM",
        usual(embedding_size=16),
        "its convolutions reach into padding: read texts one by one",
    ),
    Family("SqueezeBERT", "SqueezeBertForMaskedLM", usual(embedding_size=32), own_form="scores"),
    Family("MPNet", "MPNetForMaskedLM", usual()),
    Family(
        "DeBERTa",
        "DebertaForMaskedLM",
        usual(relative_attention=True, pos_att_type=["c2p", "p2c"]),
    ),
    Family(
        "DeBERTa-v2",
        "DebertaV2ForMaskedLM",
        usual(relative_attention=True, pos_att_type=["c2p", "p2c"]),
    ),
    Family("XLNet", "XLNetLMHeadModel", {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64}),
    Family(
        "XLM",
        "XLMWithLMHeadModel",
        {"emb_dim": 32, "n_layers": 2, "n_heads": 4, "max_position_embeddings": 64, "n_langs": 1},
    ),
    Family(
        "Funnel",
        "FunnelForMaskedLM",
        {
            "d_model": 32,
            "n_head": 4,
            "d_head": 8,
            "d_inner": 64,
            "block_sizes": [1, 1],
            "num_decoder_layers": 1,
        },
        "pooled queries",
    ),
    Family(
        "Longformer",
        "LongformerForMaskedLM",
        usual(attention_window=4),
        "band and global weights made dense",
        length=11,
        own_form="band",
    ),
    Family(
        "BigBird, block-sparse",
        "BigBirdForMaskedLM",
        usual(
            attention_type="block_sparse",
            block_size=4,
            num_random_blocks=1,
            max_position_embeddings=256,
        ),
        "blocks made dense; keys counted twice show once",
        length=64,
    ),
    Family("BigBird, full", "BigBirdForMaskedLM", usual(attention_type="original_full")),
    # decoders
    Family("GPT-2", "GPT2LMHeadModel", gpt()),
    Family(
        "GPT-2, scaled by layer",
        "GPT2LMHeadModel",
        gpt(scale_attn_by_inverse_layer_idx=True),
        "each layer its own scaling",
    ),
    Family(
        "GPT-Neo",
        "GPTNeoForCausalLM",
        {
            "hidden_size": 32,
            "num_layers": 2,
            "num_heads": 4,
            "attention_types": [[["global", "local"], 1]],
            "window_size": 4,
            "max_position_embeddings": 64,
        },
        "local layers",
    ),
    Family("GPT-NeoX", "GPTNeoXForCausalLM", usual(), "rotary positions"),
    Family("GPT-J", "GPTJForCausalLM", gpt(rotary_dim=4)),
    Family("CodeGen", "CodeGenForCausalLM", gpt(rotary_dim=4, n_ctx=64)),
    Family("BLOOM", "BloomForCausalLM", {"hidden_size": 32, "n_layer": 2, "n_head": 4}, "ALiBi"),
    Family(
        "MPT",
        "MptForCausalLM",
        {"d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 64},
        "ALiBi",
    ),
    Family(
        "Falcon, rotary",
        "FalconForCausalLM",
        usual(alibi=False, new_decoder_architecture=True, num_kv_heads=2),
        "grouped queries",
    ),
    Family(
        "Falcon, ALiBi",
        "FalconForCausalLM",
        usual(alibi=True),
        "ALiBi; multi-query; read on its eager path, which differs from its sdpa path",
        paths_agree=False,
    ),
    Family(
        "OPT",
        "OPTForCausalLM",
        {
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "ffn_dim": 64,
            "max_position_embeddings": 64,
            "word_embed_proj_dim": 32,
        },
    ),
    Family("Llama", "LlamaForCausalLM", grouped(), "grouped queries"),
    Family("Mistral", "MistralForCausalLM", grouped(sliding_window=4), "sliding window"),
    Family(
        "Mixtral",
        "MixtralForCausalLM",
        grouped(num_local_experts=2, num_experts_per_tok=1),
        "router beside attention",
    ),
    Family(
        "Qwen2",
        "Qwen2ForCausalLM",
        grouped(use_sliding_window=True, sliding_window=4, max_window_layers=1),
        "sliding window",
    ),
    Family("Qwen3", "Qwen3ForCausalLM", grouped(), "normalised q and k"),
    Family("Gemma", "GemmaForCausalLM", grouped()),
    Family(
        "Gemma 2",
        "Gemma2ForCausalLM",
        grouped(
            sliding_window=4,
            layer_types=_SLIDING,
            attn_logit_softcapping=2.0,
            query_pre_attn_scalar=16,
        ),
        "soft-cap; sliding window",
    ),
    Family(
        "Gemma 3",
        "Gemma3ForCausalLM",
        grouped(sliding_window=4, layer_types=_SLIDING, query_pre_attn_scalar=16),
        "sliding window; its own scaling",
    ),
    Family("OLMo", "OlmoForCausalLM", grouped()),
    Family("OLMo 2", "Olmo2ForCausalLM", grouped()),
    Family(
        "Phi",
        "PhiForCausalLM",
        usual(num_key_value_heads=2, partial_rotary_factor=0.5),
        "partly rotary",
    ),
    Family(
        "Phi-3",
        "Phi3ForCausalLM",
        usual(num_key_value_heads=2, sliding_window=4),
        "sliding window",
    ),
    Family(
        "gpt-oss",
        "GptOssForCausalLM",
        grouped(num_local_experts=2, num_experts_per_tok=1, sliding_window=4, layer_types=_SLIDING),
        "sinks; sliding window",
    ),
    Family(
        "Granite",
        "GraniteForCausalLM",
        usual(num_key_value_heads=2, attention_multiplier=0.3),
        "its own scaling",
    ),
    Family("Cohere", "CohereForCausalLM", usual(num_key_value_heads=2)),
    Family("StableLM", "StableLmForCausalLM", usual(num_key_value_heads=2)),
    Family(
        "Starcoder2",
        "Starcoder2ForCausalLM",
        usual(num_key_value_heads=2, sliding_window=4),
        "sliding window",
    ),
    Family(
        "SmolLM3",
        "SmolLM3ForCausalLM",
        usual(num_key_value_heads=2, no_rope_layers=[1, 0]),
        "layers without positions",
    ),
    Family(
        "DeepSeek-V3",
        "DeepseekV3ForCausalLM",
        usual(
            num_key_value_heads=4,
            q_lora_rank=8,
            kv_lora_rank=8,
            qk_rope_head_dim=4,
            qk_nope_head_dim=4,
            v_head_dim=6,
            n_routed_experts=2,
            num_experts_per_tok=1,
            n_group=1,
            topk_group=1,
            moe_intermediate_size=16,
            n_shared_experts=1,
        ),
        "latent keys; values of their own size",
    ),
    Family(
        "Llama 4",
        "Llama4ForCausalLM",
        grouped(
            num_local_experts=2,
            attention_chunk_size=4,
            no_rope_layers=[1, 0],
            intermediate_size_mlp=64,
        ),
        "chunked attention",
    ),
    # encoder and decoder
    Family(
        "T5",
        "T5ForConditionalGeneration",
        t5(num_decoder_layers=3),
        "positional bias",
        "text to text",
    ),
    Family(
        "mT5",
        "MT5ForConditionalGeneration",
        t5(feed_forward_proj="gated-gelu"),
        "positional bias",
        "text to text",
    ),
    Family("BART", "BartForConditionalGeneration", two_stacks(), reads="text to text"),
    Family("mBART", "MBartForConditionalGeneration", two_stacks(), reads="text to text"),
    Family("Pegasus", "PegasusForConditionalGeneration", two_stacks(), reads="text to text"),
    Family("Marian", "MarianMTModel", two_stacks(), reads="text to text"),
    Family(
        "ProphetNet",
        "ProphetNetForConditionalGeneration",
        {
            "hidden_size": 32,
            "encoder_ffn_dim": 64,
            "num_encoder_layers": 2,
            "num_encoder_attention_heads": 4,
            "decoder_ffn_dim": 64,
            "num_decoder_layers": 2,
            "num_decoder_attention_heads": 2,
            "ngram": 2,
            "max_position_embeddings": 64,
            "num_buckets": 8,
            "relative_max_distance": 16,
        },
        "main stream of the decoder",
        reads="text to text",
        own_form="scores",
    ),
    Family(
        "LED",
        "LEDForConditionalGeneration",
        {
            **two_stacks(
                attention_window=4,
                max_encoder_position_embeddings=64,
                max_decoder_position_embeddings=64,
            )
        },
        "band and global weights made dense",
        reads="text to text",
        length=11,
        own_form="band",
    ),
    Family(
        "Whisper",
        "WhisperForConditionalGeneration",
        {**two_stacks(num_mel_bins=8, max_source_positions=10, max_target_positions=32)},
        reads="sound",
    ),
    # pictures and sound
    Family("ViT", "ViTModel", picture(), reads="picture"),
    Family("DeiT", "DeiTModel", picture(), reads="picture"),
    Family(
        "BEiT",
        "BeitModel",
        picture(use_relative_position_bias=True),
        "positional bias",
        reads="picture",
    ),
    Family("DINOv2", "Dinov2Model", picture(), reads="picture"),
    Family("CLIP, pictures", "CLIPVisionModel", picture(), reads="picture"),
    Family("CLIP, text", "CLIPTextModel", usual()),
    Family(
        "Wav2Vec2",
        "Wav2Vec2Model",
        usual(
            conv_dim=(16, 16),
            conv_stride=(4, 2),
            conv_kernel=(8, 4),
            num_feat_extract_layers=2,
            num_conv_pos_embeddings=4,
            num_conv_pos_embedding_groups=2,
            feat_extract_norm="layer",
        ),
        reads="waveform",
    ),
)
