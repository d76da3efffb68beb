"""Weights from what made them: the model's softmax again, from q, k, mask, bias and sinks."""

from __future__ import annotations

from torch import Tensor

from headscope.capture.softmax import attention_weights


def softmax_of_scores(
    q: Tensor,  # h r d
    k: Tensor,  # g s d: head h of q looks at group h // (heads // groups)
    *,
    scaling: float,
    softcap: float | None = None,
    bias: Tensor | None = None,  # h r s
    seen: Tensor | None = None,  # r s bool
    sinks: Tensor | None = None,  # h
) -> Tensor:
    """h r s in float32, on the device of q."""
    return attention_weights(
        q[None].float(),
        k[None].float(),
        scaling,
        softcap=softcap,
        bias=None if bias is None else bias[None].to(q.device),
        visible=seen,  # as the model does: a query that may look nowhere looks everywhere alike
        sinks=sinks,
    )[0]
