"""The transformers model inside a wrapper: PEFT, compiled, parallel, …

Wrappers hide a model's configuration and the names of its inputs, so headscope reads the model
itself. Wrappers are recognised by class name, so that none of these packages is imported.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from headscope.errors import BadInput
from headscope.models.own_thread import only_here


class Unwrapped(NamedTuple):
    """A model, and the tokenizer that came with its wrapper, if one did."""

    model: Any
    tokenizer: Any


def unwrap(given: Any) -> Unwrapped:
    """The innermost model; any other object is returned unchanged."""
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
    """The base model, which contains the adapters' layers; prompts are outside of it."""
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


# A module of plain torch, `nn.MultiheadAttention` inside, as headscope runs models.
#
# Such a module has no configuration and its own names of inputs. The first argument of its
# `forward` takes token numbers, or the tensor that `scope.read_inputs` receives under that name. A
# padding mask goes to the argument named like one, as in torch: True is left out.

_PADDING = ("src_key_padding_mask", "key_padding_mask", "padding_mask")  # True: padding
_REAL = ("attention_mask", "mask")  # True, or 1: a token


class PlainModel(nn.Module):
    """The module under the names that models of transformers have."""

    main_input_name = "input_ids"

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module
        self.config = SimpleNamespace(is_encoder_decoder=False, _name_or_path="")
        self._names = list(inspect.signature(module.forward).parameters)
        if not self._names:
            raise BadInput(
                f"{type(module).__name__}.forward takes no input; give a model whose forward does."
            )

    def get_input_embeddings(self) -> nn.Module | None:
        """The embedding of tokens; None for a module that takes vectors."""
        return next((one for one in self.module.modules() if isinstance(one, nn.Embedding)), None)

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        **given: Any,
    ) -> Any:
        named = dict(given)
        sideways = input_ids is not None and self._time_first
        if input_ids is not None:
            named[self._names[0]] = input_ids.T if sideways else input_ids
        if attention_mask is not None and not bool(attention_mask.bool().all()):
            named |= self._padding(attention_mask.bool())
        output = self.module(**named)
        if hasattr(output, "logits"):
            return output
        made = _tensor(output)
        return SimpleNamespace(logits=made.transpose(0, 1) if sideways else made)

    @functools.cached_property
    def _time_first(self) -> bool:
        """Whether its token numbers are t b, torch's default."""
        attention = next(one for one in self.modules() if isinstance(one, nn.MultiheadAttention))
        if attention.batch_first:
            return False
        shapes: list[tuple[int, ...]] = []

        def note(module: nn.Module, args: Any, kwargs: Any) -> None:
            shapes.append(tuple((args[0] if args else kwargs["query"]).shape))

        handle = attention.register_forward_pre_hook(only_here(note), with_kwargs=True)
        try:
            with torch.no_grad():
                self.module(self.trial_inputs()["input_ids"])  # 1 4
        finally:
            handle.remove()
        return shapes[0][0] == 1

    def trial_inputs(self) -> Mapping[str, Tensor]:
        """Four tokens, or four vectors as wide as the first attention reads."""
        attention = next(one for one in self.modules() if isinstance(one, nn.MultiheadAttention))
        where = attention.out_proj.weight
        if self.get_input_embeddings() is not None:
            return {"input_ids": torch.tensor([[1, 2, 1, 0]], device=where.device)}
        shape = (1, 4) if attention.batch_first else (4, 1)
        return {self._names[0]: torch.randn(*shape, attention.embed_dim).to(where)}

    def _padding(self, real: Tensor) -> dict[str, Tensor]:
        for name in self._names:
            if name in _PADDING:
                return {name: ~real}
            if name in _REAL:
                return {name: real}
        raise BadInput(
            f"{type(self.module).__name__} takes no padding mask ({', '.join(_PADDING)} or "
            "attention_mask), so texts of different length cannot be read together; read them one "
            "by one."
        )


def is_plain(model: Any) -> bool:
    """Whether it is a module without configuration that attends by torch's own module."""
    return (
        isinstance(model, nn.Module)
        and not hasattr(model, "config")
        and any(isinstance(one, nn.MultiheadAttention) for one in model.modules())
    )


def tokenizer_of(tokens: Any) -> Any:
    """A tokenizer of words, split at spaces, from a list of them or a mapping to numbers."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    known = dict(tokens) if isinstance(tokens, Mapping) else {w: n for n, w in enumerate(tokens)}
    unknown = next((name for name in ("[UNK]", "<unk>") if name in known), None)
    pad = next((name for name in ("[PAD]", "<pad>") if name in known), None)
    made = Tokenizer(models.WordLevel(known, unk_token=unknown))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, unk_token=unknown, pad_token=pad)


def _tensor(output: Any) -> Any:
    while isinstance(output, (tuple, list)) and output:
        output = output[0]
    return output
