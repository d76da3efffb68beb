"""Weights missing in a file: in the body they raise an error, in an output layer they are recorded.

transformers draws missing weights at random and only writes a table to the log. Attention read
from them would mean nothing, and differ from run to run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal
from weakref import WeakKeyDictionary

import torch
from torch import nn

from headscope.errors import BadInput, HeadscopeError
from headscope.models.placement import plain_values

# a pooler reads what attention has made of the first token; nothing attends to it
_POOLER = re.compile(r"(^|\.)pooler\.")
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
_SENTENCES = "seq_relationship"
Asked = Literal["words", "classes", "next sentence"]
_untrained: WeakKeyDictionary[nn.Module, tuple[str, ...]] = WeakKeyDictionary()


def check_complete(model: Any, source: str, report: Mapping[str, Any]) -> None:
    """Refuse a model that lacks weights its attention depends on."""
    needed = [name for name in sorted(report["missing_keys"]) if _in_body(model, name)]
    if needed:
        raise HeadscopeError(
            f"{source} lacks {len(needed):,} of the model's weights ({_listed(needed)}), which "
            "would be drawn at random; save or download the whole model again."
        )


def check_room(model: Any, source: str, report: Mapping[str, Any]) -> None:
    """Refuse weights of a layer that the configuration leaves out."""
    kinds = {_NUMBER.sub("#", name) for name in model.state_dict()}
    left = [name for name in sorted(report["unexpected_keys"]) if _NUMBER.sub("#", name) in kinds]
    if left:
        raise HeadscopeError(
            f"{source} holds {len(left):,} weights that the model does not have "
            f"({_listed(left)}): its config.json has too few layers; correct it."
        )


def remember_untrained(model: nn.Module, report: Mapping[str, Any]) -> None:
    """Record which weights of an output layer were in no file."""
    if report["missing_keys"]:
        _untrained[model] = tuple(sorted(report["missing_keys"]))


def untrained_weights(model: nn.Module) -> tuple[str, ...]:
    """Names of weights after the last layer that were in no file and are random."""
    return _untrained.get(model, ())


def check_output_layer(model: nn.Module, name: str, asked: Asked = "words") -> None:
    """Raise an error if the needed output layer is untrained."""
    missing = untrained_weights(model)
    if asked == "words":  # computed from every token, without the pooler
        missing = [one for one in missing if not (_POOLER.search(one) or _SENTENCES in one)]
    elif asked == "next sentence":
        missing = [one for one in missing if _POOLER.search(one) or _SENTENCES in one]
    if missing:
        raise BadInput(
            f"The output layer of {name} was not trained: the weights {_listed(missing)} are "
            "missing from the checkpoint, so they are random; load the pretrained or fine-tuned "
            "model with its output layer."
        )


def _in_body(model: Any, name: str) -> bool:
    """Whether a weight belongs to the layers rather than to an output layer."""
    if _POOLER.search(name):
        return False
    prefix = getattr(model, "base_model_prefix", "")
    if not prefix or not hasattr(model, prefix):  # opened without any output layer
        return True
    return name.startswith(f"{prefix}.")


def _listed(names: Iterable[str], most: int = 3) -> str:
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


# Weights must be finite: other models are refused before anything is measured.


def check_weights(model: Any, name: str) -> None:
    """Refuse a model with weights that are not finite; what it attends to would mean nothing."""
    for where, parameter in model.named_parameters():
        if parameter.is_meta or not parameter.dtype.is_floating_point:
            continue
        values = plain_values(parameter)
        # the sum is quick; only if it is not finite, check each weight
        if bool(values.sum(dtype=torch.float32).isfinite()) or bool(values.isfinite().all()):
            continue
        raise BadInput(
            f"{name} holds weights that are NaN (in {where}): training has failed or the "
            "file is damaged; load an earlier checkpoint."
        )
