"""Budgets for serving: DuoAttention's files, a press of kvpress, plain JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.arguments import need_path
from headscope.budgets.heads import Head, KeyValueHeads
from headscope.errors import BadInput, HeadscopeError
from headscope.files import atomic_path, read_json, write_json

if TYPE_CHECKING:
    from headscope.budgets.result import Budget

FORMAT = "headscope head budget 1"


def scores(budget: Budget) -> NDArray[np.float64]:
    """layer × key-value head from 0 to 1: 0 is the first to be restricted, 1 needs the cache.

    Heads that the model's own window restricts already are 0.
    """
    known = budget.key_value_heads
    found = np.zeros((max(known.layers) + 1, known.groups))
    most = max(1, len(budget.order))
    for rank, head in enumerate(budget.order):
        found[head] = (rank + 1) / most
    return found


def write_heads(budget: Budget, path: str | Path, share: float | None = None) -> None:
    """The heads to restrict, and every head's cost."""
    target = need_path(path)
    known = budget.key_value_heads
    costs: Any = budget.rows("cost")
    whole = {
        "format": FORMAT,
        "model": budget.model,
        "sink": budget.sink,
        "window": budget.window,
        "tolerance": budget.tolerance,
        "layers": list(known.layers),
        "layer_windows": list(known.windows),
        "key_value_heads": known.groups,
        "query_heads_per_key_value_head": known.per_group,
        "head_dim": known.dim,
        "streaming": [list(head) for head in budget.heads(share)],
        "order": [list(head) for head in budget.order],
        "cost": [
            [int(row.layer), int(row.head), float(row.value)]
            for row in costs.itertuples(index=False)
        ],
    }
    write_json(whole, target, indent=1)


def write_duo_attention(budget: Budget, folder: str | Path, share: float | None = None) -> None:
    """full_attention_heads.tsv (layers × key-value heads) and config.json.

    Scores are ranks, so DuoAttention's `sparsity` restricts heads in the budget's order;
    config.json names the sparsity of the set.
    """
    target = need_path(folder)
    target.mkdir(parents=True, exist_ok=True)
    rows = "\n".join("\t".join(f"{one:.6f}" for one in row) for row in scores(budget))
    every = len(budget.key_value_heads.every)
    restricted = len(budget.heads(share)) + every - len(budget.order)
    config = {
        "sink_size": budget.sink,
        "recent_size": budget.window - 1,  # beside the query's own token
        "sparsity": restricted / every,
        "model": budget.model,
    }
    for name, text in (
        ("full_attention_heads.tsv", rows + "\n"),
        ("config.json", json.dumps(config, indent=1)),
    ):
        with atomic_path(target / name) as temporary:
            temporary.write_text(text, "utf-8")


def press_of(path: str | Path) -> Any:
    """The press of kvpress for a budget that was written as JSON.

    Parameters
    ----------
    path
        What `Budget.to_json` or `headscope budget -o heads.json` wrote.

    Returns
    -------
    kvpress.DuoAttentionPress
        Use it as any press: `with press(model): …`.

    Examples
    --------
    >>> with hs.press_of("heads.json")(model):  # doctest: +SKIP
    ...     model.generate(**inputs)
    """
    source = need_path(path)
    try:
        found = read_json(FORMAT, source)
        known = KeyValueHeads(
            tuple(found["layers"]),
            tuple(found["layer_windows"]),
            found["key_value_heads"],
            found["query_heads_per_key_value_head"],
            found["head_dim"],
        )
        heads = [(int(layer), int(head)) for layer, head in found["streaming"]]
        return press(known, heads, found["sink"], found["window"])
    except (OSError, ValueError, KeyError, TypeError):
        raise BadInput(f"{source} is not a head budget; save one with Budget.to_json.") from None


def press(known: KeyValueHeads, heads: Sequence[Head], sink: int, window: int) -> Any:
    """A press that keeps sink and window of these heads once the prompt is read."""
    try:
        from kvpress import DuoAttentionPress  # pyright: ignore
    except ImportError as error:
        raise HeadscopeError(
            f"kvpress cannot be imported ({error}); run: pip install kvpress."
        ) from None
    import torch

    mask = torch.zeros(max(known.layers) + 1, known.groups, dtype=torch.bool)
    for layer, head in heads:
        mask[layer, head] = True

    class HeadBudgetPress(DuoAttentionPress):  # pyright: ignore
        """DuoAttention's press with measured heads in place of downloaded ones."""

        def post_init_from_model(self, model: Any) -> None:
            self.sink_size, self.recent_size = sink, window - 1
            self.streaming_mask = mask.to(model.device)

    return HeadBudgetPress(head_compression_ratio=float(mask.float().mean()))
