"""Contributors: the parts a head's score q·k is a sum of, and the softmax of any of them.

A contributor is one neuron (one coordinate of q and k), a pair of neurons that turn together in
a rotary model, or the positional bias as a whole. Scores and weights are float64, so that with
every contributor kept the softmax is the captured weights up to the model's own rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.capture.softmax import weights_of_scores
from headscope.errors import BadInput
from headscope.reading import LayerAttention, Part
from headscope.reading.rotary import neuron_groups
from headscope.reading.weights.layer import NOT_KEPT

Values = NDArray[np.float64]
BIAS = -1  # the neuron number of the positional bias


@dataclass(frozen=True, eq=False)
class Contributors:
    """The terms of one head's score: q_id · k_jd for every neuron, and the bias."""

    neurons: tuple[tuple[int, ...], ...]  # c: the neurons of each contributor, (BIAS,) for the bias
    q: Values  # t d
    k: Values  # s d, scaled
    visible: NDArray[np.bool_]  # t s
    bias: Values | None = None  # t s
    softcap: float | None = None
    sink: float | None = None

    def __len__(self) -> int:
        return len(self.neurons)

    @property
    def names(self) -> tuple[str, ...]:
        """Names to show: "12", "3+35" for a rotary pair, "position" for the bias."""
        return tuple(
            "position" if group == (BIAS,) else "+".join(map(str, group)) for group in self.neurons
        )

    @property
    def parts(self) -> Values:
        """c t s, in units of the score before softmax: too large for a long text."""
        made = [self.q[:, list(g)] @ self.k[:, list(g)].T for g in self.neurons if g != (BIAS,)]
        return np.stack(made if self.bias is None else [*made, self.bias])

    def means(self, keys: NDArray[np.bool_]) -> Values:
        """t c: what each contributor adds to the score on average over some keys (t s)."""
        count = keys.sum(1)[:, None]
        chosen = keys.astype(np.float64)
        by_neuron = self.q * (chosen @ self.k)  # Σ_j q_id k_jd = q_id · Σ_j k_jd
        found = [by_neuron[:, list(g)].sum(1) for g in self.neurons if g != (BIAS,)]
        if self.bias is not None:
            found.append((self.bias * chosen).sum(1))
        return np.stack(found, axis=1) / count

    def weights(self, kept: NDArray[np.bool_] | None = None) -> Values:
        """The softmax (t s) with only the contributors of the mask `kept` (c)."""
        chosen = [group for at, group in enumerate(self.neurons) if kept is None or kept[at]]
        # the bias is added after a soft cap, so the cap must see the neurons' sum alone
        single = [neuron for group in chosen for neuron in group if neuron != BIAS]
        scores = self.q[:, single] @ self.k[:, single].T
        if self.softcap is not None:
            scores = np.tanh(scores / self.softcap) * self.softcap
        if self.bias is not None and (BIAS,) in chosen:
            scores = scores + self.bias
        found = weights_of_scores(
            torch.from_numpy(scores)[None, None],
            visible=torch.from_numpy(np.array(self.visible)),
            sinks=None if self.sink is None else torch.tensor([self.sink], dtype=torch.float64),
        )
        return found[0, 0].numpy()

    def of_queries(self, chosen: NDArray[np.bool_]) -> Contributors:
        """The same for some of the queries."""
        bias = None if self.bias is None else self.bias[chosen]
        return replace(self, q=self.q[chosen], visible=self.visible[chosen], bias=bias)


def contributors(part: Part, layer: int, head: int, queries: slice = slice(None)) -> Contributors:
    """The contributors of one head of a reading, for all or some of its queries."""
    one = part.layer(layer)
    if not one.has_qk or one.scaling is None:
        raise BadInput(part.why_no_qk or NOT_KEPT)
    if not 0 <= head < one.shape[0]:
        raise BadInput(f"There is no head {head}; layer {layer} has heads 0 to {one.shape[0] - 1}.")
    alone = one.of_heads([head])  # for a long text the whole layer is large
    assert alone.q is not None and alone.k is not None
    q, k = alone.q[0, queries].astype(np.float64), alone.k[0].astype(np.float64) * one.scaling
    neurons = neuron_groups(part.rotary, q.shape[1])
    bias = alone.bias_held
    return Contributors(
        neurons=neurons if bias is None else (*neurons, (BIAS,)),
        q=q,
        k=k,
        visible=_visible(one, (len(q), len(k)), queries),
        bias=None if bias is None else bias.rows(chosen=queries)[0].double().numpy(),
        softcap=one.softcap,
        sink=None if one.sinks is None else float(one.sinks[head]),
    )


def _visible(one: LayerAttention, shape: tuple[int, ...], queries: slice) -> NDArray[np.bool_]:
    mask = one.mask_held
    return np.ones(shape, bool) if mask is None else mask.rows(queries).numpy()
