"""How much each head attends from every answer token to every source, in the pass that reads it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.capture import Call
from headscope.capture.output_projection import head_norms, weight_of
from headscope.capture.softmax import weight_rows
from headscope.circuits.outputs import projection_of
from headscope.errors import HeadscopeError

if TYPE_CHECKING:
    from headscope.reading import Scope

Floats = NDArray[np.float32]
AT_ONCE = 2**24  # weights computed together


class HeadMass:
    """A sink: attention of some queries, summed over the keys of each source (sources × keys).

    `attention`, `norm` and `copied` are layer × head × query × source. The second weighs each key
    by the length of what its head moves from there, and is None where values cannot be read. The
    third, for `ids` alone, is 1 where a head's strongest key lies in the source and is the next
    token of the answer: the mark of a retrieval head (Wu et al. 2024).
    """

    def __init__(
        self,
        scope: Scope,
        rows: Sequence[int],
        members: NDArray[np.bool_],
        *,
        norms: bool = True,
        layers: Collection[int] | None = None,
        ids: Tensor | None = None,
    ) -> None:
        self._scope = scope
        self._rows = torch.tensor(list(rows))
        self._members = torch.from_numpy(members.T.astype(np.float32))  # s n
        self._wanted = layers
        self._attention: dict[int, Floats] = {}
        self._norm: dict[int, Floats] = {}
        self._copied: dict[int, Floats] = {}
        self._ids = ids  # n, with the token that follows each query
        self._norms = norms
        _ = scope.description  # watches which module takes the heads' outputs

    @torch.no_grad()
    def __call__(self, call: Call) -> None:
        if call.kind != "decoder" or (self._wanted is not None and call.layer not in self._wanted):
            return
        device = call.q.device if call.q is not None else call.weights.device
        keys = len(self._members)
        members, rows = self._members.to(device), self._rows.to(device)
        factor = self._factor(call)
        at_once = max(1, AT_ONCE // max(1, call.heads * keys))
        plain: list[Tensor] = []
        weighed: list[Tensor] = []
        copied: list[Tensor] = []
        for some in rows.split(at_once):
            weights = weight_rows(call, some)[0].float()  # h r s
            plain.append(weights @ members)
            if self._ids is not None:
                strongest, ids = weights.argmax(-1), self._ids.to(device)  # h r
                same = ids[strongest] == ids[some + 1]
                copied.append(members[strongest] * same[..., None])
            if factor is not None:
                weighed.append((weights * factor[:, None]) @ members)
        self._attention[call.layer] = torch.cat(plain, 1).cpu().numpy()
        if copied:
            self._copied[call.layer] = torch.cat(copied, 1).cpu().numpy()
        if weighed:
            self._norm[call.layer] = torch.cat(weighed, 1).cpu().numpy()

    def read(self, ids: Tensor) -> None:
        """One forward pass over 1 n tokens that computes nothing but these sums."""
        options: dict[str, Any] = {}
        if self._scope.accepts("logits_to_keep"):
            options["logits_to_keep"] = 1
        if self._scope.accepts("use_cache"):
            options["use_cache"] = False
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        self._scope.forward(inputs, self, lazy=True, **options)

    def _factor(self, call: Call) -> Tensor | None:
        """h s: ‖v_j W_h‖."""
        if not self._norms or call.v is None:
            return None
        try:
            weight = weight_of(projection_of(self._scope, call)).float()
        except HeadscopeError:
            return None
        return head_norms(weight, call.v.float(), call.heads)[0]

    @property
    def layers(self) -> list[int]:
        return sorted(self._attention)

    @property
    def attention(self) -> Floats:
        return _stacked(self._attention)

    @property
    def norm(self) -> Floats | None:
        return _stacked(self._norm) if len(self._norm) == len(self._attention) else None

    @property
    def copied(self) -> Floats:
        return _stacked(self._copied)


def _stacked(found: dict[int, Floats]) -> Floats:
    """Stack layers with different numbers of heads; missing heads are zero."""
    heads = max(one.shape[0] for one in found.values())
    whole = np.zeros((len(found), heads, *next(iter(found.values())).shape[1:]), np.float32)
    for at, layer in enumerate(sorted(found)):
        whole[at, : found[layer].shape[0]] = found[layer]
    return whole
