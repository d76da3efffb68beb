"""One layer's attention for one input, with weights computed from q and k."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.capture.softmax import attention_scores, attention_weights
from headscope.errors import BadInput
from headscope.reading.memory import device_for
from headscope.reading.weights.held import Bias, Held, Mask, as_floats, hold

Array = NDArray[np.float32]
BLOCK = 2**24  # weights computed at once: their inputs take a few times as much memory

NOT_KEPT = "q and k were not kept; read the text again with keep=('q', 'k')."


class LayerAttention:
    """One layer of a reading; arrays that were not kept or cannot be read are None.

    Arrays are returned in float32, in any stored precision. `weights` are the kept maps;
    `compute_weights` computes them, or some heads and queries, from q and k.
    """

    def __init__(
        self,
        layer: int,
        weights: Any = None,  # h t s
        q: Any = None,  # h t d, after rotary
        k: Any = None,  # g s d
        v: Any = None,  # g s d
        *,
        scaling: float | None = None,
        bias: Any = None,  # h t s, positional, or a Bias
        mask: Any = None,  # t s, True where a query may look, or a Mask; None: everywhere
        window: int | None = None,
        softcap: float | None = None,
        sinks: Any = None,  # h
    ) -> None:
        self.layer = layer
        self.held: dict[str, Held] = {}
        for name, values in {"weights": weights, "q": q, "k": k, "v": v, "sinks": sinks}.items():
            held = hold(values)
            if held is not None:
                self.held[name] = held
        self.scaling, self.window, self.softcap = scaling, window, softcap
        self.bias_held: Bias | None = _bias(bias)
        self.mask_held: Mask | None = _mask(mask)

    def _array(self, name: str) -> Array | None:
        return as_floats(self.held[name].tensor()) if name in self.held else None

    @property
    def weights(self) -> Array | None:  # h t s
        return self._array("weights")

    @property
    def q(self) -> Array | None:  # h t d, after rotary
        return self._array("q")

    @property
    def k(self) -> Array | None:  # g s d
        return self._array("k")

    @property
    def v(self) -> Array | None:  # g s d
        return self._array("v")

    @property
    def sinks(self) -> Array | None:  # h
        return self._array("sinks")

    @property
    def bias(self) -> Array | None:  # h t s
        return None if self.bias_held is None else self.bias_held.rows().numpy()

    @property
    def mask(self) -> NDArray[np.bool_] | None:  # t s
        return None if self.mask_held is None else self.mask_held.rows().numpy()

    @property
    def has_weights(self) -> bool:
        """Whether maps were kept; reading them may read a file."""
        return "weights" in self.held

    @property
    def has_qk(self) -> bool:
        return "q" in self.held and "k" in self.held

    @property
    def shape(self) -> tuple[int, int, int]:
        """h t s; zeros if neither maps nor q and k were kept."""
        if self.has_weights:
            heads, queries, keys = self.held["weights"].shape
            return heads, queries, keys
        if self.has_qk:
            heads, queries, _ = self.held["q"].shape
            return heads, queries, self.held["k"].shape[1]
        return 0, 0, 0

    @property
    def groups(self) -> int:
        return self.held["k"].shape[0] if "k" in self.held else self.shape[0]

    @property
    def nbytes(self) -> int:
        """Bytes in memory, alone or shared with other layers."""
        described = (self.bias_held, self.mask_held)
        held = sum(one.nbytes for one in self.held.values())
        return held + sum(one.nbytes for one in described if one is not None)

    def of_heads(self, heads: Sequence[int]) -> LayerAttention:
        """Heads that share their keys, as a layer of their own."""
        group = heads[0] * self.groups // max(1, self.shape[0])
        return self._some(
            slice(group, group + 1),
            lambda held: torch.cat([held.tensor(slice(head, head + 1)) for head in heads]),
            list(heads),
        )

    def of_groups(self, heads: range) -> LayerAttention:
        """Neighbouring heads that are whole groups, as a layer of their own; nothing is copied."""
        each, chosen = self.shape[0] // self.groups, slice(heads.start, heads.stop)
        groups = slice(heads.start // each, heads.stop // each)
        return self._some(groups, lambda held: held.tensor(chosen), chosen)

    def _some(
        self, groups: slice, of_heads: Callable[[Held], Tensor], heads: slice | list[int]
    ) -> LayerAttention:
        def some(name: str) -> Tensor | None:
            if name not in self.held:
                return None
            return self.held[name].tensor(groups) if name in "kv" else of_heads(self.held[name])

        bias = self.bias_held
        return LayerAttention(
            self.layer,
            **{name: some(name) for name in ("weights", "q", "k", "v", "sinks")},
            scaling=self.scaling,
            bias=None if bias is None else Bias(bias.values[heads], bias.queries),
            mask=self.mask_held,
            window=self.window,
            softcap=self.softcap,
        )

    def head_weights(
        self, heads: slice, queries: Any = slice(None), keys: int | None = None
    ) -> Array:
        """h r s of some heads and queries, kept or computed; see `compute_weights` for `keys`."""
        if self.has_weights:
            return as_floats(self.held["weights"].tensor(heads)[:, queries, :keys])
        return self.compute_weights(heads, queries, keys)

    def compute_weights(
        self, heads: slice = slice(None), queries: Any = slice(None), keys: int | None = None
    ) -> Array:
        """softmax(q·kᵀ·scaling + bias + mask) of some heads and queries: h r s.

        With `keys`, only that many of the first keys: for queries that see none of the others.
        """
        total, count, every = self.shape
        rows = torch.arange(count)[queries].numel()
        size = len(range(total)[heads]) * rows * (every if keys is None else keys)
        return self.weights_on(device_for(size), heads, queries, keys).cpu().numpy()

    def weights_on(
        self,
        device: torch.device | str,
        heads: slice = slice(None),
        queries: Any = slice(None),
        keys: int | None = None,
    ) -> Tensor:
        """The weights, computed on a device and left there."""
        if not self.has_qk or self.scaling is None:
            raise BadInput(NOT_KEPT)
        total, count, every = self.shape
        keys = every if keys is None else min(keys, every)
        chosen = range(total)[heads]
        rows = torch.arange(count)[queries]
        result = torch.empty(len(chosen), rows.numel(), keys, device=device)
        at_once = max(1, BLOCK // max(1, keys))
        for start in range(0, rows.numel(), at_once):
            some = rows[start : start + at_once]
            mask = self.mask_held
            seen = None if mask is None else mask.rows(some.to(device), device)[..., :keys]
            for position, of in self._blocks(chosen, some.numel() * keys):
                made = self._made(of, some, seen, keys, device)
                result[position : position + made.shape[0], start : start + at_once] = made
        return result

    def scores_on(self, device: torch.device | str, queries: slice, keys: int) -> Tensor:
        """h r s: masked scores of neighbouring queries over the first keys, before the softmax and
        without sinks."""
        if not self.has_qk or self.scaling is None:
            raise BadInput(NOT_KEPT)
        bias, mask = self.bias_held, self.mask_held
        scores = attention_scores(
            self.held["q"].tensor()[None, :, queries].to(device).float(),
            self.held["k"].tensor()[None, :, :keys].to(device).float(),
            self.scaling,
            softcap=self.softcap,
            bias=None if bias is None else bias.rows(slice(None), queries)[..., :keys].to(device),
        )[0]
        if mask is not None:
            first = min(keys, mask.seen_by_all(queries))
            seen = mask.rows(queries, device, slice(first, keys))
            scores[..., first:].masked_fill_(~seen, torch.finfo(scores.dtype).min)
        return scores

    def on(self, device: torch.device | str) -> LayerAttention:
        """The layer with q and k on a device, for many steps there."""
        if self.has_weights or torch.device(device).type == "cpu":
            return self
        held = {name: self.held[name].tensor().to(device) for name in ("q", "k")}
        return LayerAttention(
            self.layer,
            **held,
            scaling=self.scaling,
            bias=self.bias_held,
            mask=self.mask_held,
            window=self.window,
            softcap=self.softcap,
            sinks=self.held.get("sinks"),
        )

    def _blocks(self, chosen: range, each: int) -> Iterator[tuple[int, slice]]:
        """Heads to compute at once: whole groups if they fit, else one after another."""
        per_group = self.shape[0] // self.groups
        together = max(1, BLOCK // max(1, each * per_group)) * per_group
        whole = chosen.step == 1 and chosen.start % per_group == 0 == len(chosen) % per_group
        step = together if whole and each * per_group <= BLOCK else 1
        for position in range(0, len(chosen), step):
            first = chosen[position]
            yield position, slice(first, min(first + step, chosen[-1] + 1))

    def _made(
        self,
        heads: slice,
        rows: Tensor,
        seen: Tensor | None,
        keys: int,
        device: torch.device | str,
    ) -> Tensor:
        assert self.scaling is not None
        bias, sinks = self.bias_held, self.held.get("sinks")
        per_group = self.shape[0] // self.groups
        groups = slice(heads.start // per_group, (heads.stop - 1) // per_group + 1)
        return attention_weights(
            self.held["q"].tensor(heads)[None, :, rows].to(device).float(),
            self.held["k"].tensor(groups)[None, :, :keys].to(device).float(),
            self.scaling,
            softcap=self.softcap,
            bias=None if bias is None else bias.rows(heads, rows)[..., :keys].to(device),
            visible=seen,
            sinks=None if sinks is None else sinks.tensor(heads).to(device),
        )[0]


def _bias(given: Any) -> Bias | None:
    if given is None or isinstance(given, Bias):
        return given
    return Bias.of(torch.as_tensor(np.asarray(given)))


def _mask(given: Any) -> Mask | None:
    if given is None or isinstance(given, Mask):
        return given
    return Mask.of(torch.as_tensor(np.asarray(given)))
