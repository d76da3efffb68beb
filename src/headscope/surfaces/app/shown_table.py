"""The numbers on the app's screen, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.reading import Reading
from headscope.views.shared.numbers import table_of
from headscope.views.shared.selection import select
from headscope.views.shared.shading import shade

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 1_000_000  # the strongest; spreadsheets open no more
SHADED = ("text", "image", "sound")


def shown_table(view: str, source: Any, state: Mapping[str, Any]) -> pd.DataFrame:
    """One row for each number the view shows: a weight, a neuron's product, a head, a part."""
    if view == "prediction":
        return source.table
    if view == "neuron":
        return _neurons(source, state)
    if view in SHADED:
        return _shaded(source, state)
    if view in ("head", "matrix"):
        return _weights(source, state, [state["head"]] if view == "matrix" else None)
    return _heads(source, state)


def _weights(reading: Reading, state: Mapping[str, Any], only: list[int] | None) -> pd.DataFrame:
    """The lines of a selected token, or all, above the threshold on screen."""
    import pandas as pd

    part = reading.part(state["kind"])
    asked = only or state.get("heads")
    heads = list(range(part.heads)) if asked is None else list(asked)
    seen = select(part, state["layer"], state, heads)
    weights = seen.weights if seen.allowed is None else seen.weights * seen.allowed
    shown = weights > 0 if only else weights >= max(1e-6, float(state.get("minimum") or 0.0))
    for side, axis in ((seen.query, 1), (seen.key, 2)):
        if side.pinned is not None and not only:
            kept = np.arange(shown.shape[axis]) == side.pinned
            shown = shown & np.expand_dims(kept, [other for other in range(3) if other != axis])
    places = np.argwhere(shown)
    values = weights[shown]
    if values.size > MOST_ROWS:
        strongest = np.sort(np.argpartition(-values, MOST_ROWS)[:MOST_ROWS])
        places, values = places[strongest], values[strongest]
    return pd.DataFrame(
        {
            "layer": state["layer"],
            "head": np.asarray(heads)[places[:, 0]],
            "query": seen.query.starts[places[:, 1]],
            "query_token": np.asarray(seen.query.line.text, object)[places[:, 1]],
            "key": seen.key.starts[places[:, 2]],
            "key_token": np.asarray(seen.key.line.text, object)[places[:, 2]],
            "weight": values,
        }
    )


def _shaded(reading: Reading, state: Mapping[str, Any]) -> pd.DataFrame:
    """Each word with its shade: of the selected words, or of the mean over all."""
    import pandas as pd

    part = reading.part(state["kind"])
    found = shade(part, state)
    units, tokens = (found.key, part.key) if found.side == "query" else (found.query, part.query)
    table = pd.DataFrame(
        {
            "layer": state["layer"],
            "token": units.start,
            "text": [
                "".join(tokens.labels[a:b]) for a, b in zip(units.start, units.end, strict=True)
            ],
            "weight": found.weights,
        }
    )
    return table if found.heads is None else table.assign(head=found.heads)


def _neurons(reading: Reading, state: Mapping[str, Any]) -> pd.DataFrame:
    """A row for each key: q·k, the weight, and q×k of every neuron."""
    import pandas as pd

    from headscope.views.neuron import middle_word

    part = reading.part(state["kind"])
    layer, head = part.layer(state["layer"]), state["head"]
    own = layer.of_heads([head])
    query = state.get("query")
    query = middle_word(part.query) if query is None else query
    assert own.q is not None and own.k is not None  # the view was built from them
    products = own.k[0] * own.q[0, query]
    weights = layer.head_weights(slice(head, head + 1), slice(query, query + 1))[0, 0]
    keys = pd.DataFrame(
        {
            "layer": layer.layer,
            "head": head,
            "query": query,
            "query_token": part.query.labels[query],
            "key": np.arange(len(part.key)),
            "key_token": list(part.key.labels),
            "q·k": products.sum(-1),
            "weight": weights,
        }
    )
    names = [f"neuron {number}" for number in range(products.shape[1])]
    return pd.concat([keys, pd.DataFrame(products, columns=names)], axis=1)


def _heads(reading: Reading, state: Mapping[str, Any]) -> pd.DataFrame:
    """Every head with its numbers on this text."""
    import pandas as pd

    table = table_of(reading, state["kind"])
    layers, heads = np.meshgrid(table.layers, np.arange(table.heads), indexing="ij")
    columns = {name: np.asarray(values).ravel() for name, values in table.columns.items()}
    return pd.DataFrame({"layer": layers.ravel(), "head": heads.ravel(), **columns})
