"""The transformers model inside what people hold in their hands: PEFT, compiled, parallel, …

Wrappers hide a model's configuration and the names of its inputs, so headscope reads the model
itself. They are told by the names of their classes: none of these packages is imported for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from headscope.errors import BadInput


class Unwrapped(NamedTuple):
    """A model, and the tokenizer that came with its wrapper, if one did."""

    model: Any
    tokenizer: Any


def unwrap(given: Any) -> Unwrapped:
    """The innermost model; what is no known wrapper comes back as it is."""
    tokenizer: Any = None
    for _ in range(16):  # wrappers inside wrappers: compiled DataParallel of a PEFT model, …
        opener = _opener(given)
        if opener is None:
            break
        given, own = opener(given)
        tokenizer = tokenizer if tokenizer is not None else own
    return Unwrapped(given, tokenizer)


def _opener(given: Any) -> Callable[[Any], Unwrapped] | None:
    for ancestor in type(given).__mro__:
        opener = _OPENERS.get(ancestor.__name__)
        if opener is not None:
            return opener
    return None


def _peft(given: Any) -> Unwrapped:
    """The base model, in which the adapters' layers stand; prompts stand outside of it."""
    active = given.peft_config.get(given.active_adapter)
    if getattr(active, "is_prompt_learning", False):
        kind = getattr(active.peft_type, "value", active.peft_type)
        raise BadInput(
            f"This PEFT model puts learned positions before the text ({kind}), which belong to no "
            "token; give model.get_base_model() to read the model without them."
        )
    return Unwrapped(given.get_base_model(), None)


def _sentence_transformer(given: Any) -> Unwrapped:
    for module in given.modules():
        if hasattr(module, "auto_model"):
            model = module.auto_model
            return Unwrapped(model, getattr(given, "tokenizer", None))
    raise BadInput(
        f"This {type(given).__name__} holds no transformers model (its modules are "
        f"{', '.join(type(module).__name__ for module in given)}); give one that does."
    )


def _sharded(given: Any) -> Unwrapped:
    raise BadInput(
        f"The weights of a {type(given).__name__} model are spread over processes; save it whole "
        "with save_pretrained and load that folder."
    )


_OPENERS: dict[str, Callable[[Any], Unwrapped]] = {
    "PeftModel": _peft,
    "PeftMixedModel": lambda given: Unwrapped(given.get_base_model(), None),
    "OptimizedModule": lambda given: Unwrapped(given._orig_mod, None),
    "DataParallel": lambda given: Unwrapped(given.module, None),
    "DistributedDataParallel": lambda given: Unwrapped(given.module, None),
    "FullyShardedDataParallel": _sharded,
    "SentenceTransformer": _sentence_transformer,
    "CrossEncoder": lambda given: Unwrapped(given.model, given.tokenizer),
    "Pipeline": lambda given: Unwrapped(given.model, given.tokenizer),
    "Trainer": lambda given: Unwrapped(given.model, given.processing_class),
}
