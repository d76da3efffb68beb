"""A batch on the model's device, from packed text or from text that was prepared here."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from headscope.capture import Kind
from headscope.corpus.text.batches import TextBatch
from headscope.reading import Scope
from headscope.statistics.features.grid import Grid, Side, grids
from headscope.statistics.survey.feeding.packed import Packed


def laid_out(
    scope: Scope, batch: TextBatch | Packed
) -> tuple[Mapping[str, Tensor], dict[Kind, Grid]]:
    """The inputs of a batch on the model's device, and its grids."""
    if isinstance(batch, TextBatch):
        return batch.inputs.inputs, grids(scope, batch)
    held = _on(batch, scope.device)
    lengths = held.pop("lengths")
    ids = held.pop("input_ids").long()
    valid = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
    inputs = {"input_ids": ids, "attention_mask": valid.long()}
    if "token_type_ids" in held:
        inputs["token_type_ids"] = held.pop("token_type_ids").long()
    side = Side(ids=ids * valid, **held)
    (kind,) = scope.kinds
    grid = Grid(kind, kind == "decoder", side, side, batch.documents, model=scope.model)
    grid = grid.padded_right(batch.full)
    return inputs, {kind: grid.known_here(batch.here("lengths"), batch.here("input_ids"))}


def _on(batch: Packed, device: torch.device) -> dict[str, Tensor]:
    """The arrays of a batch as tensors of a device, copied there all at once."""
    whole = torch.from_numpy(batch.data)
    if device.type == "cuda":
        # from pinned memory the copy does not wait until the GPU is done with its last batch
        whole = whole.pin_memory().to(device, non_blocking=True)
    found: dict[str, Tensor] = {}
    for name, kind, shape, start in batch.arrays:
        dtype: torch.dtype = getattr(torch, kind)
        part = whole[start : start + math.prod(shape) * dtype.itemsize]
        found[name] = part.view(dtype).view(shape)
    return found
