"""A call: one attention computation seen while a model runs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor, nn

from headscope.errors import BadInput

Kind = Literal["encoder", "decoder", "cross"]
ReadAt = Literal["interface", "tap", "family"]


@dataclass(frozen=True)
class Output:
    """Returned by a sink that computed the attention output itself."""

    tensor: Tensor  # b t h d


@dataclass(frozen=True)
class Queries:
    """Returned by a sink that has the model attend with other queries, in its own way."""

    tensor: Tensor  # b h t d


@dataclass
class Lazy:
    """A tensor made on first use; `value` is None before."""

    make: Callable[[], Tensor | None]
    value: Tensor | None = None
    made: bool = False

    def get(self) -> Tensor | None:
        if not self.made:
            self.value, self.made = self.make(), True
        return self.value

    @staticmethod
    def of(value: Tensor | None) -> Lazy:
        return Lazy(make=lambda: value, value=value, made=True)


@dataclass(frozen=True)
class Again:
    """The same attention computed in another way, on demand.

    If a sink returns one, the model uses its output, and later sinks see its weights.
    """

    weights: Lazy  # b h t s
    rows: Callable[[Tensor], Tensor | None]  # of some queries: b h r s
    output: Callable[[], Tensor]  # b t h d


@dataclass(frozen=True)
class Call:
    """One attention computation: everything that went into its weights, and the weights.

    `q`, `k` and `v` are what the model multiplied (after rotary embedding); they are None if a
    family is read at its softmax and they were not found, and q and k also if no sink needs them.
    `k` and `v` keep their own head count (grouped queries): head h of q belongs to group `h //
    (heads // groups)`.
    """

    kind: Kind
    layer: int  # 0-based, per kind, in the order of computation
    read_at: ReadAt  # how it was read: registered function, softmax, or a family's own file
    module: nn.Module
    q: Tensor | None  # b h t d
    k: Tensor | None  # b g s d
    v: Tensor | None  # b g s d
    scaling: float | None
    bias: Tensor | None  # b|1 h t s, positional bias added to the scores; the mask is not in it
    softcap: float | None
    sinks: Tensor | None  # h, logits that take part in the softmax and are then dropped
    window: int | None
    causal: bool
    lazy_mask: Lazy = field(repr=False)
    lazy_weights: Lazy = field(repr=False)
    lazy_valid: Callable[[], tuple[Tensor, Tensor]] = field(repr=False)
    edited: bool = False  # the weights no longer follow from q and k
    given_mask: Tensor | None = field(default=None, repr=False)  # boolean or additive
    implied_causal: bool = False  # there is no mask: fused attention hides the future itself
    lazy_rows: Callable[[Tensor], Tensor | None] | None = field(default=None, repr=False)
    lazy_mask_rows: Callable[[Tensor], Tensor | None] | None = field(default=None, repr=False)
    again: Callable[[Tensor], Again] | None = field(default=None, repr=False)

    @property
    def weights(self) -> Tensor:
        """b h t s, after softmax: the model's own numbers, part of its autograd graph."""
        weights = self.lazy_weights.get()
        assert weights is not None
        return weights

    def weights_of(self, queries: Tensor) -> Tensor | None:
        """b h r s of some queries, as the model computes them; None if it can only compute all."""
        if self.lazy_weights.made or self.lazy_rows is None:
            return self.weights[:, :, queries]
        return self.lazy_rows(queries)

    @property
    def mask(self) -> Tensor | None:
        """b|1 1|h t s, additive: 0 where a query may look at a key, very negative elsewhere."""
        return self.lazy_mask.get()

    def mask_of(self, queries: Tensor) -> Tensor | None:
        """b|1 1|h r|1 s, the mask of some queries, without making that of all if possible."""
        if self.lazy_mask_rows is not None and not self.lazy_mask.made:
            return self.lazy_mask_rows(queries)
        mask = self.mask
        return mask if mask is None or mask.shape[2] == 1 else mask[:, :, queries]

    @property
    def valid_queries(self) -> Tensor:
        """b t, True for real tokens; padded query rows are meaningless."""
        return self.lazy_valid()[0]

    @property
    def valid_keys(self) -> Tensor:
        """b s, True for keys that some query may look at."""
        return self.lazy_valid()[1]

    @property
    def heads(self) -> int:
        return self.q.shape[1] if self.q is not None else self.weights.shape[1]

    @property
    def groups(self) -> int:
        return self.k.shape[1] if self.k is not None else self.heads

    @property
    def map_bytes(self) -> int:
        """Bytes of all its weights in float32, whether or not they are computed."""
        if self.q is None or self.k is None:
            return 4 * self.weights.numel()
        return 4 * math.prod(self.q.shape[:3]) * self.k.shape[2]

    def with_weights(self, weights: Tensor) -> Call:
        """The call for the next sink, after an edit has replaced the weights."""
        return dataclasses.replace(self, lazy_weights=Lazy.of(weights), edited=True)

    def after(self, edit: Tensor | Queries | Again) -> Call:
        """The call after a sink's answer."""
        if isinstance(edit, Again):
            return dataclasses.replace(
                self, lazy_weights=edit.weights, lazy_rows=edit.rows, again=None, edited=True
            )
        if isinstance(edit, Queries):
            return self.with_queries(edit.tensor)
        return self.with_weights(edit)

    def with_queries(self, q: Tensor) -> Call:
        """The call with other queries; the model makes its weights from those."""
        assert self.again is not None and not self.edited
        made = self.again(q)
        return dataclasses.replace(self, q=q, lazy_weights=made.weights, lazy_rows=made.rows)


def not_numbered() -> tuple[Tensor, Tensor]:
    raise AssertionError("a call knows its real tokens once a door has numbered it")


Answer = Tensor | Output | Queries | Again | None  # a sink's answer; None leaves the model alone
Sink = Callable[[Call], Answer]


def allowed(mask: Tensor) -> Tensor:
    """Where an additive (or boolean) mask lets a query look: a boolean tensor of its shape."""
    if mask.dtype == torch.bool:
        return mask
    return mask > torch.finfo(mask.dtype).min / 2


def checked(answer: Tensor, batch: int, heads: int, queries: int, keys: int) -> Tensor:
    """The weights a sink returned; those that cannot replace the model's raise an error."""
    if answer.shape != (batch, heads, queries, keys):
        raise BadInput(
            f"The sink returned weights of shape {tuple(answer.shape)}, but the model attends "
            f"with {(batch, heads, queries, keys)}: batch, heads, queries, keys."
        )
    return answer
