"""A sink that keeps what it is asked to keep, and turns it into readings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.capture.call import Call, Kind, allowed
from headscope.errors import BadInput
from headscope.reading.part import Array, LayerAttention, Part
from headscope.reading.reading import Reading
from headscope.text.tokens import Tokens

Keep = Literal["weights", "q", "k", "v"]

NO_QK = (
    "This model computes its attention outside the interface that hands over q and k, so only "
    "its weights can be read."
)


class Collector:
    """Keeps, per input of a batch, the real rows and columns of every wanted layer.

    `queries` and `keys` are how many real tokens each input has on the side that looks (the
    decoder's, for cross attention) and on the side that is looked at; None keeps everything.
    """

    def __init__(
        self,
        queries: Sequence[int] | None,
        keys: Sequence[int] | None,
        keep: Collection[Keep],
        layers: Collection[int] | None,
    ) -> None:
        self._queries = queries
        self._keys = keys
        self.sizes: dict[Kind, tuple[int, int]] = {}  # queries and keys a kind was seen with
        self._keep = frozenset(keep)
        self._wanted = None if layers is None else frozenset(layers)
        self._found: dict[Kind, list[list[LayerAttention]]] = defaultdict(list)
        self._causal: dict[Kind, bool] = {}
        self._no_qk: set[Kind] = set()
        self._rotary: dict[Kind, bool] = {}

    def __call__(self, call: Call) -> None:
        self._causal[call.kind] = call.causal
        self._rotary.setdefault(call.kind, _is_rotary(call))
        if call.q is None:
            self._no_qk.add(call.kind)
        if self._wanted is None or call.layer in self._wanted:
            batch, _, *size = _shape(call)
            rows = [self._one(call, row, *size) for row in range(batch)]
            self._found[call.kind].append(rows)

    def _one(self, call: Call, row: int, queries: int, keys: int) -> LayerAttention:
        t, s = self._real(call.kind, row, queries, keys)
        size = (queries, keys)
        if t > queries or s > keys or self.sizes.setdefault(call.kind, size) != size:
            raise BadInput(
                f"Layer {call.layer} of this model attends with {queries} × {keys} positions, "
                "which are not the tokens of the text (it pools them); use scope.capture."
            )
        readable = call.q is not None and not call.edited  # an edit's weights come from no q and k
        mask = call.mask
        return LayerAttention(
            layer=call.layer,
            weights=_array(call.weights[row, :, :t, :s]) if "weights" in self._keep else None,
            q=self._kept("q", call.q if readable else None, row, t),
            k=self._kept("k", call.k if readable else None, row, s),
            v=self._kept("v", call.v, row, s),
            scaling=call.scaling,
            bias=_bias(call, row, t, s) if readable and "q" in self._keep else None,
            mask=None if mask is None else _mask(mask, row, t, s),
            window=call.window,
            softcap=call.softcap,
            sinks=None if call.sinks is None else _array(call.sinks.reshape(-1)),
        )

    def _kept(self, name: Keep, tensor: Tensor | None, row: int, count: int) -> Array | None:
        return None if tensor is None or name not in self._keep else _array(tensor[row, :, :count])

    def _real(self, kind: Kind, row: int, queries: int, keys: int) -> tuple[int, int]:
        if self._queries is None or self._keys is None:
            return queries, keys
        t = self._keys[row] if kind == "encoder" else self._queries[row]
        s = self._queries[row] if kind == "decoder" else self._keys[row]
        return t, s

    def readings(self, query: Sequence[Tokens], key: Sequence[Tokens], model: str) -> list[Reading]:
        """One reading per input; `query` are the decoder's tokens, `key` the encoder's."""
        readings: list[Reading] = []
        order: tuple[Kind, ...] = ("encoder", "decoder", "cross")
        for row in range(len(query)):
            parts: dict[Kind, Part] = {}
            for kind in order:
                if kind not in self._found:
                    continue
                parts[kind] = Part(
                    kind=kind,
                    query=key[row] if kind == "encoder" else query[row],
                    key=query[row] if kind == "decoder" else key[row],
                    layers=tuple(layer[row] for layer in self._found[kind]),
                    causal=self._causal[kind],
                    rotary=self._rotary[kind],
                    why_no_qk=NO_QK if kind in self._no_qk else None,
                )
            readings.append(Reading(parts, model))
        return readings


def _shape(call: Call) -> tuple[int, ...]:
    """b h t s, without asking a lazy call for its weights."""
    if call.q is None or call.k is None:
        return tuple(call.weights.shape)
    return (*call.q.shape[:3], call.k.shape[2])


def _array(tensor: Tensor) -> NDArray[np.float32]:
    return tensor.detach().to(device="cpu", dtype=torch.float32).numpy().copy()


def _mask(mask: Tensor, row: int, t: int, s: int) -> NDArray[np.bool_] | None:
    """t s, or None when every query may look everywhere."""
    open_to = allowed(mask[min(row, mask.shape[0] - 1), 0, :t, :s]).cpu().numpy()
    return None if open_to.all() else open_to.copy()


def _bias(call: Call, row: int, t: int, s: int) -> NDArray[np.float32] | None:
    """The positional bias; an additive mask with finite values in it (ALiBi) is one too."""
    bias = None
    if call.bias is not None:
        bias = call.bias[min(row, call.bias.shape[0] - 1), :, :t, :s]
    mask = call.mask
    if mask is not None and mask.dtype != torch.bool:
        added = mask[min(row, mask.shape[0] - 1), :, :t, :s]
        added = torch.where(allowed(added), added, torch.zeros_like(added))
        if bool(added.any()):
            bias = added if bias is None else bias + added
    return None if bias is None else _array(bias.expand(call.heads, t, s))


def _is_rotary(call: Call) -> bool:
    configuration = getattr(call.module, "config", None)
    return bool(
        getattr(configuration, "rope_parameters", None)
        or getattr(configuration, "rope_theta", None)
        or getattr(configuration, "rotary_dim", None)
    )
