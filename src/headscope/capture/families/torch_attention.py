"""torch's own attention module, read head by head.

`nn.MultiheadAttention` is asked for the weights of every head, whatever its caller asked for, and
its projections are taken again for q, k and v. The fused paths that torch takes in evaluation mode
go around the module, so they are closed meanwhile.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import torch
from torch import Tensor, nn

from headscope.capture import tap
from headscope.capture.products import Scores
from headscope.capture.watch import Watch
from headscope.errors import AttentionNotRead

PLAIN_TORCH = True


def taps(module: nn.Module) -> contextlib.AbstractContextManager[None] | None:
    return _Apart(module) if isinstance(module, nn.MultiheadAttention) else None


class _Unfused:
    """torch's switch is for the whole process: the first to enter closes the fused paths, the last
    to leave puts the switch back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = True

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = torch.backends.mha.get_fastpath_enabled()
                torch.backends.mha.set_fastpath_enabled(False)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                torch.backends.mha.set_fastpath_enabled(self._before)


_unfused = _Unfused()


class _Apart(Watch):
    """Asks for weights per head; others in their place are mixed and projected as torch does."""

    def __enter__(self) -> None:
        module: Any = self.module
        if module.bias_k is not None or module.add_zero_attn:
            raise AttentionNotRead(
                "This nn.MultiheadAttention adds a key that belongs to no token "
                "(add_bias_kv or add_zero_attn), so its attention cannot be shown."
            )
        self._undo.enter_context(_unfused)
        super().__enter__()

    def before(self, given: dict[str, Any]) -> None:
        self._asked = given.get("need_weights", True), given.get("average_attn_weights", True)
        given["need_weights"], given["average_attn_weights"] = True, False

    def after(self, given: dict[str, Any], output: Any) -> Any:
        if output is None:
            return None
        mixed, weights = output
        alone = weights.dim() == 3  # one example without a batch
        weights = weights[None] if alone else weights
        q, k, v = self._projected(given, alone)
        module: Any = self.module
        padding = given.get("key_padding_mask")
        keys = torch.ones(len(k), k.shape[2], dtype=torch.bool, device=k.device)
        if padding is not None:
            keys = _seen(padding).reshape(keys.shape)
        same = given["query"] is given["key"]
        queries = keys if same else torch.ones_like(weights[:, 0, :, 0], dtype=torch.bool)
        bias, seen = self._added(given.get("attn_mask"), weights, keys)
        scores = Scores(q, k, module.head_dim**-0.5, bias, seen)
        replaced = tap.show_weights(
            module, weights, "family", lambda door, kind: (queries, keys), scores, v
        )
        if replaced is not weights:
            flat = (replaced.to(v.dtype) @ v).transpose(1, 2).flatten(2)  # b t (h d)
            made = module.out_proj(flat)
            mixed = made[0] if alone else made if module.batch_first else made.transpose(0, 1)
        wanted, average = self._asked
        shown = replaced.mean(dim=1) if average else replaced
        return mixed, (shown[0] if alone else shown) if wanted else None

    def _projected(self, given: dict[str, Any], alone: bool) -> tuple[Tensor, Tensor, Tensor]:
        """b h t d each."""
        module: Any = self.module
        if module.in_proj_weight is not None:
            matrices = module.in_proj_weight.chunk(3)
        else:
            matrices = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
        biases = (None,) * 3 if module.in_proj_bias is None else module.in_proj_bias.chunk(3)
        made: list[Tensor] = []
        for name, matrix, bias in zip(("query", "key", "value"), matrices, biases, strict=True):
            flat: Tensor = nn.functional.linear(given[name], matrix, bias)
            flat = flat[None] if alone else flat if module.batch_first else flat.transpose(0, 1)
            made.append(flat.unflatten(-1, (module.num_heads, -1)).transpose(1, 2))
        return made[0], made[1], made[2]

    def _added(
        self, mask: Tensor | None, weights: Tensor, keys: Tensor
    ) -> tuple[Tensor | None, Tensor | None]:
        """The bias and where queries may look (b h t s each), from masks of either form."""
        seen = keys[:, None, None].expand_as(weights)
        bias: Tensor | None = None
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.reshape(weights.shape)
            seen = seen & _seen(mask)
            if mask.dtype != torch.bool:
                added = torch.where(_seen(mask), mask, 0.0).expand_as(weights)
                bias = added if bool(added.any()) else None
        return bias, None if bool(seen.all()) else seen


def _seen(mask: Tensor) -> Tensor:
    """torch's masks: True, or minus infinity, where nothing may be looked at."""
    return ~mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2
