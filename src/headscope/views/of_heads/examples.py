"""An atlas's examples as typed buffers: a selection, with the text around each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.views.wire.container import Buffers
from headscope.views.wire.packing import pack_bytes, pack_numbers, pack_whole

if TYPE_CHECKING:
    import pandas as pd

    from headscope.atlas.atlas import Atlas

PER_HEAD = 200
IN_ALL = 30_000  # keeps a page of any model below 10 MB
AROUND, NEAR_KEY = 12, 2  # tokens around a query and around a key, as in `Atlas.examples`
CONTINUES, SPECIAL, SECOND = 1, 2, 4  # flags of a token
NO_KEY = 65535


def chosen_examples(atlas: Atlas, kind: str, heads: int, per_head: int = PER_HEAD) -> pd.DataFrame:
    """Every head's examples: its label's first, then confidence and focus, then the rest."""
    rows: Any = atlas.frame("examples")
    rows = rows[rows["kind"] == kind]
    labels: Any = atlas.labels
    labels = labels[labels["kind"] == kind]
    first = {
        (row.layer, row.head, row.pattern): rank for rank, row in enumerate(labels.itertuples())
    }
    common = {"confidence": len(first), "focus": len(first) + 1}
    rest = len(first) + 2
    keys = zip(rows["layer"], rows["head"], rows["measure"], strict=True)
    order = [first.get(key, common.get(key[2], rest)) for key in keys]
    rows = rows.assign(order=order).sort_values(
        ["layer", "head", "order", "measure", "decile", "rank"], kind="stable"
    )
    most = min(per_head, max(1, IN_ALL // heads))
    return rows.groupby(["layer", "head"], sort=False).head(most).reset_index(drop=True)


def pack_examples(
    rows: pd.DataFrame, measures: Sequence[str], buffers: Buffers
) -> tuple[dict[str, Any], list[int]]:
    """References to the buffers, and the documents by number."""
    documents = sorted(int(each) for each in set(rows["document"]))
    index = {number: at for at, number in enumerate(documents)}
    width = max((len(keys) for keys in rows["keys"]), default=0)
    keys = np.full((len(rows), width), NO_KEY, dtype=np.int64)
    weights = np.zeros((len(rows), width), dtype=np.float32)
    pairs = zip(rows["keys"], rows["weights"], strict=True)
    for at, (its_keys, its_weights) in enumerate(pairs):
        keys[at, : len(its_keys)] = its_keys
        weights[at, : len(its_weights)] = its_weights
    numbers = {name: at for at, name in enumerate(measures)}
    whole = {
        "measure": np.array([numbers[name] for name in rows["measure"]], dtype=np.int64),
        "decile": rows["decile"].to_numpy(dtype=np.int64) + 1,  # 0: the strongest
        "document": np.array([index[int(each)] for each in rows["document"]], dtype=np.int64),
        "query": rows["query"].to_numpy(dtype=np.int64),
        "keys": keys,
    }
    packed = {name: buffers.add(f"e_{name}", pack_whole(values)) for name, values in whole.items()}
    values = rows["value"].to_numpy(dtype=np.float32)
    packed["value"] = buffers.add("e_value", pack_numbers(values))
    packed["weights"] = buffers.add("e_weights", pack_numbers(weights))
    return {"width": width, "numbers": documents, **packed}, documents


def pack_texts(
    atlas: Atlas, kind: str, rows: pd.DataFrame, documents: Sequence[int], buffers: Buffers
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The tokens around every query and key; cross attention's keys are in other texts.

    None if the atlas has no text.
    """
    if not atlas.has_text:
        return None, None
    queries: dict[int, set[int]] = {number: set() for number in documents}
    apart = kind == "cross"
    keys: dict[int, set[int]] = {number: set() for number in documents} if apart else queries
    for number, query, its_keys in zip(rows["document"], rows["query"], rows["keys"], strict=True):
        queries[int(number)].update(range(int(query) - AROUND, int(query) + AROUND + 1))
        for key in its_keys:
            keys[int(number)].update(range(int(key) - NEAR_KEY, int(key) + NEAR_KEY + 1))
    asked = _stretches(atlas, "decoder" if apart else kind, queries, buffers, "t")
    return asked, _stretches(atlas, "encoder", keys, buffers, "k") if apart else None


def _stretches(
    atlas: Atlas, kind: str, wanted: Mapping[int, set[int]], buffers: Buffers, prefix: str
) -> dict[str, Any]:
    """The needed tokens of each document, each once."""
    frame: Any = atlas.frame("documents")
    texts = {int(row.document): row for row in frame[frame["kind"] == kind].itertuples()}
    words: dict[str, int] = {}
    tokens: list[int] = []
    positions: list[int] = []
    flags: list[int] = []
    starts, lengths = [0], []
    for number, positions_wanted in wanted.items():
        text = texts[number]
        length = len(text.tokens)
        for at in sorted(each for each in positions_wanted if 0 <= each < length):
            tokens.append(words.setdefault(str(text.tokens[at]), len(words)))
            positions.append(at)
            flags.append(
                CONTINUES * bool(text.continues[at])
                + SPECIAL * (text.classes[at] <= 2)
                + SECOND * (text.segments[at] == 1)
            )
        starts.append(len(tokens))
        lengths.append(length)
    whole = {"tokens": tokens, "positions": positions}
    packed = {
        name: buffers.add(f"{prefix}_{name}", pack_whole(np.array(values, dtype=np.int64)))
        for name, values in whole.items()
    }
    packed["flags"] = buffers.add(f"{prefix}_flags", pack_bytes(np.array(flags, dtype=np.uint8)))
    return {"words": list(words), "starts": starts, "lengths": lengths, **packed}
