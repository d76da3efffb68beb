"""Attention rollout: from which tokens each token's information came, through all layers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headscope.capture import Kind
from headscope.errors import BadInput
from headscope.reading import Reading


def rollout(reading: Reading, kind: Kind | None = None) -> NDArray[np.float64]:
    """layers × query × key: rollout up to and including each layer of a reading.

    Ã_l = (½ A_l + ½ I) Ã_(l−1), where A_l is the mean over the heads of layer l and the identity
    represents the residual connection (Abnar & Zuidema 2020). Rows sum to 1.
    """
    attention = np.asarray(reading.part(kind).attention, dtype=np.float64)  # layer head query key
    if attention.shape[-1] != attention.shape[-2]:
        raise BadInput("Rollout needs self-attention; cross-attention connects two texts.")
    identity = np.eye(attention.shape[-1])
    flow = identity
    layers: list[NDArray[np.float64]] = []
    for layer in attention:
        flow = (layer.mean(axis=0) / 2 + identity / 2) @ flow
        layers.append(flow)
    return np.stack(layers)
