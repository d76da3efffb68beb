"""Four methods that score how much each token contributed to an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.errors import BadInput

if TYPE_CHECKING:
    from headscope.circuits.saliency.inputs import Embedded
    from headscope.reading import Reading

Floats = NDArray[np.float64]
MOST_STEPS = 512
COMPLETE = 0.01  # integrated gradients are refined until their sum is this close
MOST_FLOW = 64  # most tokens for which a maximum flow is computed


def gradient_input(given: Embedded) -> Floats:
    """Gradient × (input − average word): the first-order effect of deleting a token."""
    with torch.enable_grad():
        x = given.own.detach().clone().requires_grad_()
        (slope,) = torch.autograd.grad(given.answers(x).sum(), x)
    return ((given.own - given.baseline) * slope).sum(-1)[0].double().cpu().numpy()


def integrated_gradients(given: Embedded, steps: int = 32) -> tuple[Floats, float]:
    """Gradients averaged on the straight line from the average word to the token.

    Sundararajan et al. 2017, by Gauss–Legendre quadrature. The second number is the sum's error
    against answer − baseline's answer, as a share of it; steps are doubled while it is over 1 %.
    """
    start, way = given.baseline, given.own - given.baseline
    with torch.no_grad():
        whole = float(given.answers(given.own) - given.answers(start))
    while True:
        nodes, weights = np.polynomial.legendre.leggauss(steps)
        total = torch.zeros_like(given.own)
        for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
            with torch.enable_grad():
                x = (start + float(node) * way).detach().requires_grad_()
                (slope,) = torch.autograd.grad(given.answers(x).sum(), x)
            total += float(weight) * slope
        found = (total * way).sum(-1)[0].double().cpu().numpy()
        missing = abs(found.sum() - whole) / max(abs(whole), 1e-6)
        if missing <= COMPLETE or steps * 2 > MOST_STEPS:
            return found, float(missing)
        steps *= 2


def rolled_out(reading: Reading, kind: str, row: int) -> Floats:
    """Attention rollout to the row that answers (Abnar & Zuidema 2020)."""
    from headscope.statistics.attention_rollout import rollout

    return rollout(reading, kind)[-1, row]  # pyright: ignore[reportArgumentType]


def attention_flow(reading: Reading, kind: str, row: int) -> Floats:
    """Maximum flow from each token to the row that answers (Abnar & Zuidema 2020).

    Heads are averaged and half of every row stands for the residual connection.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_flow

    maps = np.asarray(reading.part(kind).attention, dtype=float).mean(1)  # pyright: ignore[reportArgumentType]
    layers, length = maps.shape[:2]
    if length > MOST_FLOW:
        raise BadInput(f"Attention flow is computed for at most {MOST_FLOW} tokens.")
    half = maps / 2 + np.eye(length) / 2
    scale = 1_000_000  # the flow algorithm needs whole numbers
    size = (layers + 1) * length
    source, sink, capacity = [], [], []
    for layer in range(layers):
        query, key = np.nonzero(half[layer] > 1 / scale)
        source += (layer * length + key).tolist()
        sink += ((layer + 1) * length + query).tolist()
        capacity += np.rint(scale * half[layer, query, key]).astype(np.int32).tolist()
    graph = csr_matrix((capacity, (source, sink)), shape=(size, size), dtype=np.int32)
    end = layers * length + row
    flows = [maximum_flow(graph, token, end).flow_value for token in range(length)]
    found = np.array(flows, dtype=float)
    return found / max(found.sum(), 1.0)
