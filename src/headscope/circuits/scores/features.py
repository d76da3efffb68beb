"""A query or a key as a sum over a dictionary's features instead of writers.

The dictionary reads the stream as it enters the head's layer. What it does not reproduce is a part
of its own, the error, so that the sum is the score even with a poor dictionary.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

from headscope.circuits.scores.decompose import AT_ONCE, BIAS
from headscope.circuits.scores.head_pass import HeadPass
from headscope.circuits.scores.writers import Writer, Written
from headscope.errors import BadInput

SOME = 256  # features decoded at a time
ERROR = Writer("error")


class Dictionary(Protocol):
    """Features of the stream, such as a sparse autoencoder's, along the last axis."""

    def encode(self, x: Tensor, /) -> Tensor: ...
    def decode(self, features: Tensor, /) -> Tensor: ...


def check_dictionary(dictionary: Any) -> None:
    for name in ("encode", "decode"):
        if not callable(getattr(dictionary, name, None)):
            raise BadInput(
                f"A dictionary has the methods encode and decode; this one has no {name}."
            )


def in_features(
    passed: HeadPass, vector: Tensor, positions: Tensor, dictionary: Dictionary
) -> Written:
    """vector (d), computed from the stream at these positions alone, by feature."""
    assert passed.entered is not None
    stream = passed.entered.detach()[0]
    active, directions, empty = _decoded(dictionary, stream[positions.to(stream.device)])
    d = vector.shape[0]
    sums = torch.zeros(len(directions), d, dtype=torch.float64)
    bias, error, whole = (torch.zeros(d, dtype=torch.float64) for _ in range(3))
    each = max(1, AT_ONCE // stream.numel())
    for first in range(0, d, each):
        unit = torch.eye(d, dtype=vector.dtype, device=vector.device)[first : first + each]
        slopes = torch.autograd.grad(
            vector, [passed.entered], unit, is_grads_batched=True, retain_graph=True
        )[0][:, 0].index_select(1, positions.to(stream.device))
        here = slice(first, first + len(unit))
        for row, at in enumerate(positions.tolist()):
            slope = slopes[:, row].double().cpu()  # e hidden
            own = active[row]
            known = own.nonzero().flatten()
            sums[known, here] += own[known, None] * (directions[known] @ slope.T)
            missed = stream[at].double().cpu() - empty - own[known] @ directions[known]
            bias[here] += slope @ empty
            error[here] += slope @ missed
            whole[here] += slope @ stream[at].double().cpu()
    rest = vector.detach().double().cpu() - whole  # biases of norms and projections
    used = active.any(0).nonzero().flatten()
    writers = (*(Writer("feature", feature=int(one)) for one in used), ERROR, BIAS)
    parts = torch.cat([sums[used], error[None], (bias + rest)[None]])
    return Written(writers, parts, vector.detach().double().cpu())


@torch.no_grad()
def _decoded(dictionary: Dictionary, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """n × F activations, F × hidden directions (zero for unused features), decode(0)."""
    found = dictionary.encode(rows)
    if found.dim() != 2 or len(found) != len(rows):
        raise BadInput(
            f"The dictionary encoded {tuple(rows.shape)} as {tuple(found.shape)}; it "
            "must return a row of features for each position."
        )
    empty = dictionary.decode(torch.zeros_like(found[:1]))
    if empty.shape[-1] != rows.shape[-1]:
        raise BadInput(
            f"The dictionary decodes to {empty.shape[-1]} numbers, but the stream has "
            f"{rows.shape[-1]}; use one of this layer's stream."
        )
    directions = torch.zeros(found.shape[1], rows.shape[-1], dtype=torch.float64)
    for some in found.any(0).nonzero().flatten().split(SOME):
        one_each = torch.zeros(len(some), found.shape[1], dtype=found.dtype, device=found.device)
        one_each[torch.arange(len(some)), some] = 1
        directions[some.cpu()] = (dictionary.decode(one_each) - empty).double().cpu()
    return found.double().cpu(), directions, empty[0].double().cpu()
