"""Models with layers that do not attend, and with experts: rows of the architecture matrix."""

from __future__ import annotations

from tests.contracts.family import Family
from tests.contracts.sizes import gpt, grouped, two_stacks, usual
from tests.tiny import VOCABULARY

_EXPERTS = {"num_experts": 2, "num_experts_per_tok": 1}
_MAMBA = {"mamba_d_state": 8, "mamba_n_heads": 4, "mamba_n_groups": 1}
_LINEAR_FIRST = {
    "layer_types": ["linear_attention", "full_attention"],
    "linear_num_value_heads": 2,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
}
_PER_LAYER = {
    "layer_types": ["sliding_attention", "full_attention"] * 2,
    "sliding_window": 4,
    "num_kv_shared_layers": 2,
    "vocab_size_per_layer_input": VOCABULARY,
    "hidden_size_per_layer_input": 8,
}

MIXED: tuple[Family, ...] = (
    Family(
        "Jamba",
        "JambaForCausalLM",
        usual(
            num_key_value_heads=2,
            num_hidden_layers=4,
            attn_layer_period=2,
            attn_layer_offset=1,
            expert_layer_period=2,
            use_mamba_kernels=False,
            mamba_d_state=4,
            mamba_dt_rank=4,
            **_EXPERTS,
        ),
        "attention in some layers",
    ),
    Family(
        "Qwen3-Next",
        "Qwen3NextForCausalLM",
        grouped(
            **_LINEAR_FIRST,
            moe_intermediate_size=16,
            shared_expert_intermediate_size=16,
            **_EXPERTS,
        ),
        "softmax attention in some layers",
    ),
    Family(
        "LFM2",
        "Lfm2ForCausalLM",
        usual(num_key_value_heads=2, layer_types=["conv", "full_attention"], block_multiple_of=8),
        "attention in some layers",
    ),
    Family(
        "Falcon-H1",
        "FalconH1ForCausalLM",
        usual(num_key_value_heads=2, mamba_d_ssm=32, mamba_d_head=8, **_MAMBA),
        "attention beside a state space in every layer",
    ),
    Family(
        "Granite 4, hybrid",
        "GraniteMoeHybridForCausalLM",
        usual(
            num_key_value_heads=2,
            layer_types=["mamba", "attention"],
            mamba_d_head=16,
            num_local_experts=2,
            num_experts_per_tok=1,
            shared_intermediate_size=16,
            **_MAMBA,
        ),
        "attention in some layers",
    ),
    Family(
        "RecurrentGemma",
        "RecurrentGemmaForCausalLM",
        usual(num_hidden_layers=3, num_key_value_heads=2, lru_width=32, attention_window_size=4),
        "attention in some layers; sliding window",
    ),
    Family("OLMoE", "OlmoeForCausalLM", usual(num_key_value_heads=2, **_EXPERTS)),
    Family(
        "Qwen3, experts",
        "Qwen3MoeForCausalLM",
        grouped(moe_intermediate_size=16, **_EXPERTS),
        "normalised q and k",
    ),
    Family(
        "DeepSeek-V3.2",
        "DeepseekV32ForCausalLM",
        usual(
            num_key_value_heads=4,
            q_lora_rank=16,
            kv_lora_rank=16,
            qk_nope_head_dim=8,
            qk_rope_head_dim=8,
            v_head_dim=8,
            index_n_heads=2,
            index_head_dim=16,
            index_topk=4,
            moe_intermediate_size=16,
            n_routed_experts=2,
            num_experts_per_tok=1,
            n_group=1,
            topk_group=1,
            first_k_dense_replace=1,
        ),
        "compressed keys and values; each query sees the keys it chose",
    ),
    Family(
        "T5Gemma 2, its encoder",
        "T5Gemma2Encoder",
        {
            "text_config": grouped(
                vocab_size=VOCABULARY,
                sliding_window=4,
                query_pre_attn_scalar=8,
                dropout_rate=0.0,
                layer_types=["sliding_attention", "full_attention"],
            ),
            "vision_config": usual(image_size=8, patch_size=4),
            "mm_tokens_per_image": 1,
        },
        "sliding windows on both sides; the whole model is refused",
    ),
    Family(
        "BigBird-Pegasus, its decoder",
        "BigBirdPegasusForCausalLM",
        two_stacks(decoder_layers=2),
        "causal by its masks alone",
    ),
    Family("Doge", "DogeForCausalLM", usual(num_key_value_heads=2), "a mask of its own making"),
    Family("GPT, the first", "OpenAIGPTLMHeadModel", gpt()),
    Family(
        "Gemma 3n",
        "Gemma3nForCausalLM",
        grouped(num_hidden_layers=4, laurel_rank=4, **_PER_LAYER),
        "four streams; later layers share earlier keys",
    ),
    Family(
        "Gemma 4",
        "Gemma4ForCausalLM",
        grouped(num_hidden_layers=4, global_head_dim=16, **_PER_LAYER),
        "wider heads in full layers; later layers share earlier keys",
    ),
    Family(
        "Qwen3.5",
        "Qwen3_5ForCausalLM",
        grouped(**_LINEAR_FIRST),
        "softmax attention in some layers",
    ),
    Family("Ernie 4.5", "Ernie4_5ForCausalLM", grouped()),
    Family("GLM-4", "Glm4ForCausalLM", grouped(partial_rotary_factor=0.5), "partly rotary"),
)
