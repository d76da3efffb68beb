"""What heads moved from each source straight into the answer's logits, by one decomposed pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.capture.output_projection import weight_of
from headscope.circuits.linear_pass import Attended, trace
from headscope.circuits.logits.target import word_layer
from headscope.circuits.unrolled import unrolled
from headscope.circuits.wiring import wiring
from headscope.errors import HeadscopeError
from headscope.grounding.prompts import Prompt
from headscope.interrupts import stopped_safely

if TYPE_CHECKING:
    from headscope.reading import Scope

AT_ONCE = 2**24  # weights computed together


def logit_by_source(
    scope: Scope, prompt: Prompt, names: list[str]
) -> dict[int, NDArray[np.float64]] | None:
    """By layer: head × answer token × source, the token's logit above the mean of all tokens.

    None if the model's logits are not a sum of what heads and MLPs write. What passes through a
    later layer counts as that layer's output, so only direct paths count.
    """
    try:
        scope = unrolled(scope)
        found, words = wiring(scope), word_layer(scope)
    except HeadscopeError:
        return None
    if words is None:
        return None
    rows = torch.tensor([list(prompt.predicting)], device=prompt.ids.device)  # 1 r
    members = torch.from_numpy(prompt.members(names).T.astype(np.float64))  # s n
    ids = prompt.ids[None, :-1]
    with stopped_safely(), torch.enable_grad():
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        traced = trace(scope, found, inputs, rows, words, rows)
        logits: Tensor = traced.output.logits[0]  # r v
        said = prompt.ids[prompt.answer :, None]
        above = (logits.gather(-1, said)[:, 0] - logits.mean(-1)).sum()
        leaves = [one for one in traced.leaves if id(one.module) in found.projections]
        slopes: Any = torch.autograd.grad(above, [one.value for one in leaves], allow_unused=True)
    moved: dict[int, NDArray[np.float64]] = {}
    for leaf, slope in zip(leaves, slopes, strict=True):
        own = found.projections[id(leaf.module)]
        attended = traced.attended.get((own.kind, own.layer))
        if attended is None:
            return None
        if slope is None or leaf.module is None:
            continue
        here = leaf.at(rows, slope)[0].double()  # r hidden
        back = (here @ weight_of(leaf.module).double().T).unflatten(-1, (own.heads, -1))
        moved[own.layer] = _summed(attended, back, rows, members).numpy()
    return moved


def sum_of_heads(moved: Mapping[int, NDArray[np.float64]]) -> NDArray[np.float64]:
    """answer token × source, over the heads of all layers."""
    return np.sum([one.sum(0) for one in moved.values()], axis=0)


@torch.no_grad()
def _summed(attended: Attended, back: Tensor, rows: Tensor, members: Tensor) -> Tensor:
    """h r n: α_ij (v_j · W_O slope_i), summed over the keys of each source."""
    values = attended.values[0].double()
    spread = values.repeat_interleave(attended.heads // len(values), dim=0)  # h s d
    at_once = max(1, AT_ONCE // spread[..., 0].numel())
    found: list[Tensor] = []
    for some in torch.arange(rows.shape[1], device=rows.device).split(at_once):
        towards = torch.einsum("rhd,hsd->hrs", back[some], spread)
        weights = attended.weights_of(rows[:, some])[0].double()
        found.append((weights * towards).cpu() @ members)
    return torch.cat(found, 1)
