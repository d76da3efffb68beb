"""Contributors: the parts a head's score q·k is a sum of, and the softmax of any of them.

A contributor is one neuron (one coordinate of q and k), a pair of neurons that turn together in
a rotary model, or the positional bias as a whole. Scores and weights are float64, so that with
every contributor kept the softmax is the captured weights up to the model's own rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.capture.softmax import weights_of_scores
from headscope.errors import BadInput
from headscope.reading import LayerAttention, Part
from headscope.reading.rotary import neuron_groups

Values = NDArray[np.float64]
BIAS = -1  # the neuron number of the positional bias


@dataclass(frozen=True, eq=False)
class Contributors:
    """What each contributor adds to every score of one head; `parts` is c t s."""

    neurons: tuple[tuple[int, ...], ...]  # c: the neurons of each contributor, (BIAS,) for the bias
    parts: Values  # c t s, in units of the score before softmax
    visible: NDArray[np.bool_]  # t s
    softcap: float | None = None
    sink: float | None = None

    def __len__(self) -> int:
        return len(self.neurons)

    @property
    def names(self) -> tuple[str, ...]:
        """How people read them: "12", "3+35" for a rotary pair, "position" for the bias."""
        return tuple(
            "position" if group == (BIAS,) else "+".join(map(str, group)) for group in self.neurons
        )

    def weights(self, kept: NDArray[np.bool_] | None = None) -> Values:
        """The softmax (t s) with only the contributors of the mask `kept` (c)."""
        chosen = self.parts if kept is None else self.parts[kept]
        # the bias is added after a soft cap, so the cap must see the neurons' sum alone
        is_bias = np.array([group == (BIAS,) for group in self.neurons], bool)
        is_bias = is_bias if kept is None else is_bias[kept]
        scores = chosen[~is_bias].sum(0)
        if self.softcap is not None:
            scores = np.tanh(scores / self.softcap) * self.softcap
        found = weights_of_scores(
            torch.from_numpy(scores + chosen[is_bias].sum(0))[None, None],
            visible=torch.from_numpy(np.array(self.visible)),
            sinks=None if self.sink is None else torch.tensor([self.sink], dtype=torch.float64),
        )
        return found[0, 0].numpy()


def contributors(part: Part, layer: int, head: int, queries: slice = slice(None)) -> Contributors:
    """The contributors of one head of a reading, for all or some of its queries."""
    one = part.layer(layer)
    if one.q is None or one.k is None or one.scaling is None:
        raise BadInput(
            part.why_no_qk or "q and k were not kept; read the text again with keep=('q', 'k')."
        )
    if not 0 <= head < len(one.q):
        raise BadInput(f"There is no head {head}; layer {layer} has heads 0 to {len(one.q) - 1}.")
    q = one.q[head, queries].astype(np.float64)  # t d
    k = one.k[head // (len(one.q) // len(one.k))].astype(np.float64)  # s d, shared by its group
    product = np.einsum("td,sd->dts", q, k) * one.scaling
    neurons = neuron_groups(part.rotary, product.shape[0])
    whole = part.rotary is None
    parts = product if whole else np.stack([product[list(g)].sum(0) for g in neurons])
    if one.bias is not None:
        neurons = (*neurons, (BIAS,))
        parts = np.concatenate([parts, one.bias[head, queries].astype(np.float64)[None]])
    return Contributors(
        neurons=neurons,
        parts=parts,
        visible=_visible(one, parts.shape[1:], queries),
        softcap=one.softcap,
        sink=None if one.sinks is None else float(one.sinks[head]),
    )


def _visible(one: LayerAttention, shape: tuple[int, ...], queries: slice) -> NDArray[np.bool_]:
    mask = one.mask
    return np.ones(shape, bool) if mask is None else np.broadcast_to(mask[queries], shape)
