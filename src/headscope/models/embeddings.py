"""How many tokens a model embeds, and their vectors."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn


def input_embeddings(model: nn.Module) -> Any:
    """The table of token vectors; None for models that hash characters or read no tokens."""
    find: Any = getattr(model, "get_input_embeddings", None)
    try:
        return None if find is None else find()
    except (NotImplementedError, AttributeError):  # CANINE, and models that read no text
        return None


def embedded_tokens(model: nn.Module) -> int | None:
    """The number of token ids the model knows; None where it has no table of them."""
    rows = getattr(input_embeddings(model), "num_embeddings", None)
    return rows if isinstance(rows, int) else None


def token_vectors(model: nn.Module) -> Tensor | None:
    """tokens × width: the table of token vectors, also where accelerate keeps it elsewhere."""
    table = input_embeddings(model)
    weight: Any = getattr(table, "weight", None)
    if weight is None or not weight.is_meta or not hasattr(table, "_hf_hook"):
        return None if weight is None else weight.detach()
    from accelerate.utils import align_module_device

    with align_module_device(table):
        return table.weight.detach().clone()
