"""The same head at the same positions, then and now: where what it looks at changed most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.atlas.excerpt import DocumentTokens, excerpt
from headscope.capture import Kind
from headscope.checkpoints.files import local
from headscope.corpus.bad_data import Faults
from headscope.corpus.text.documents import Reader
from headscope.reading import load

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Part

COLUMNS = [
    "rank", "document", "query", "query_token", "step", "key", "key_token", "weight", "changed",
    "text",
]  # fmt: skip


def then_and_now(
    models: Mapping[int, str],
    corpus: Any,
    layer: int,
    head: int,
    n: int,
    kind: Kind | None,
    limit: int,
    *,
    device: str | None,
    dtype: str | None,
) -> pd.DataFrame:
    """One position of a text each, by the share of attention that moved since the first step."""
    import pandas as pd

    steps = list(models)
    scopes = {
        step: load(local(model), device=device, dtype=dtype) for step, model in models.items()
    }
    found: list[tuple[float, int, int, dict[int, Part]]] = []
    for number, document in enumerate(Reader().documents(corpus, Faults())):
        if number == limit:
            break
        parts = {
            step: scope.read(document.text, truncate=True).part(kind)
            for step, scope in scopes.items()
        }
        before, after = (parts[step].weights(layer)[head] for step in (steps[0], steps[-1]))
        if before.shape != after.shape or not len(before):
            continue
        moved = np.abs(after - before).sum(-1) / 2
        query = int(moved.argmax())
        found.append((float(moved[query]), number, query, parts))
    found.sort(key=lambda one: -one[0])
    rows = [
        _row(rank, step, layer, head, *one) for rank, one in enumerate(found[:n]) for step in steps
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _row(
    rank: int,
    step: int,
    layer: int,
    head: int,
    moved: float,
    number: int,
    query: int,
    parts: dict[int, Part],
) -> dict[str, Any]:
    part = parts[step]
    weights = part.weights(layer)[head, query]
    key = int(np.argmax(weights))
    tokens = part.query
    whole = DocumentTokens(number, tokens.labels, tokens.segments, tokens.continues)
    return {
        "rank": rank,
        "document": number,
        "query": query,
        "query_token": tokens.labels[query],
        "step": step,
        "key": key,
        "key_token": part.key.labels[key],
        "weight": float(weights[key]),
        "changed": moved,
        "text": excerpt(whole, query, [key] if part.kind != "cross" else []),
    }
