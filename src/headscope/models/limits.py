"""How many tokens a model can read at once."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

_POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len", "max_source_positions")
_ENDLESS = 1_000_000  # tokenizers without a limit state an absurd one


def max_tokens(model: nn.Module, tokenizer: Any | None) -> int | None:
    """The number of positions, specials included; None for unlimited relative positions."""
    configuration: Any = getattr(model, "config", None)
    if hasattr(configuration, "get_text_config"):
        configuration = configuration.get_text_config()
    limit = next(
        (
            value
            for name in _POSITIONS
            if isinstance(value := getattr(configuration, name, None), int) and value > 0
        ),
        None,
    )
    if hasattr(configuration, "relative_attention_num_buckets"):
        return None  # T5's n_positions is its training length, not a limit
    if limit is not None:
        limit -= _reserved(model)
    stated = getattr(tokenizer, "model_max_length", None)
    if isinstance(stated, int) and stated < _ENDLESS:
        limit = stated if limit is None else min(limit, stated)
    return limit


def trained_length(model: nn.Module) -> int | None:
    """The number of tokens in training, if the model can read more."""
    configuration: Any = getattr(model, "config", None)
    if not hasattr(configuration, "relative_attention_num_buckets"):
        return None  # the limit above is the length it was trained on
    stated = getattr(configuration, "n_positions", None)
    return stated if isinstance(stated, int) and stated > 0 else None


def _reserved(model: nn.Module) -> int:
    """The unused first positions: RoBERTa counts from its padding index."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            return 0 if module.padding_idx is None else module.padding_idx + 1
    return 0


# A model's token embeddings.


def input_embeddings(model: nn.Module) -> Any:
    """The table of token vectors; None for models that hash characters or read no tokens."""
    find: Any = getattr(model, "get_input_embeddings", None)
    try:
        return None if find is None else find()
    except (NotImplementedError, AttributeError):  # CANINE, and models that read no text
        return None


def embedded_tokens(model: nn.Module) -> int | None:
    """The number of token ids the model knows; None if it has no table of them."""
    rows = getattr(input_embeddings(model), "num_embeddings", None)
    return rows if isinstance(rows, int) else None


def token_vectors(model: nn.Module) -> Tensor | None:
    """tokens × width: the table of token vectors, even if accelerate offloads it."""
    table = input_embeddings(model)
    weight: Any = getattr(table, "weight", None)
    if weight is None or not weight.is_meta or not hasattr(table, "_hf_hook"):
        return None if weight is None else weight.detach()
    from accelerate.utils import align_module_device

    with align_module_device(table):
        return table.weight.detach().clone()
