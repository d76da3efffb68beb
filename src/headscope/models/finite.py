"""Weights must be numbers: a model that holds others is refused before anything is measured."""

from __future__ import annotations

from typing import Any

import torch

from headscope.errors import BadInput
from headscope.models.placement import plain_values


def check_weights(model: Any, name: str) -> None:
    """Refuse a model with weights that are not finite; what it attends to would mean nothing."""
    for place, parameter in model.named_parameters():
        if parameter.is_meta or not parameter.dtype.is_floating_point:
            continue
        values = plain_values(parameter)
        # the sum of all is one quick pass; only where it is not finite has each to be looked at
        if bool(values.sum(dtype=torch.float32).isfinite()) or bool(values.isfinite().all()):
            continue
        raise BadInput(
            f"{name} holds weights that are not numbers (in {place}): training has failed or the "
            "file is damaged; load an earlier checkpoint."
        )
