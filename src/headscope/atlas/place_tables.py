"""The tables of places: examples, deciles, and the texts they stand in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch

from headscope.capture import Kind
from headscope.measures import find
from headscope.runs.in_parts import of_each
from headscope.statistics.places.deciles import DECILES, bins_of, bounds_of, chosen

if TYPE_CHECKING:
    from headscope.atlas.spelled import Spelled
    from headscope.atlas.words import Words
    from headscope.statistics.places.places import Places
    from headscope.statistics.places.texts import KeptText
    from headscope.surveys.reducer import Heads

STRONGEST = -1  # the decile of a place that is among the strongest
COLUMNS = [
    "kind", "layer", "head", "measure", "decile", "rank", "value", "document", "query",
    "query_token", "key", "key_token", "weight", "keys", "weights",
]  # fmt: skip


def examples(kind: Kind, heads: Heads, places: Places, spelled: Spelled | None) -> pd.DataFrame:
    """The strongest places of every head and measure, and those of every decile."""
    parts = [_strongest(places), _of_deciles(places)]
    found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = _order(heads, places.names, found["head"], found["measure"], found["decile"])
    frame: Any = _frame(kind, heads, places, {name: of[order] for name, of in found.items()})
    of_keys = places.key_texts or places.texts
    for column, place, texts in (
        ("query_token", "query", places.texts),
        ("key_token", "key", of_keys),
    ):
        if spelled is None:
            frame[column] = ""
            continue
        number, token = frame["document"].to_numpy(), frame[place].to_numpy()
        names = spelled(_ids_at(texts, number, np.maximum(token, 0)))
        # a head that is off gives no key any weight
        frame[column] = np.where(token < 0, "", np.array(names, dtype=object))
    return frame[COLUMNS]


def _order(heads: Heads, names: Sequence[str], head: Any, measure: Any, decile: Any) -> Any:
    """Rows by layer, head, name of the measure and decile, as they stand within each."""
    of_head = np.argsort(np.lexsort(np.array(heads).T[::-1]))
    of_measure = np.argsort(np.argsort(np.array(names)))
    codes = of_head[head] * len(names) + of_measure[measure]
    return np.argsort(codes * (DECILES + 1) + decile - STRONGEST, kind="stable")


def _ids_at(texts: Mapping[int, KeptText], number: Any, token: Any) -> Any:
    """The tokens at some places of texts."""
    order = sorted(texts)
    ids = [texts[one].ids for one in order]
    starts = np.cumsum([0, *map(len, ids)])[:-1]
    which = np.searchsorted(np.array(order, dtype=np.int64), number)
    return np.concatenate([*ids, np.zeros(0, dtype=np.int32)])[starts[which] + token]


def _strongest(places: Places) -> dict[str, Any]:
    arrays = places.top.arrays()
    head, measure, rank = at = np.nonzero(arrays.pop("document") >= 0)
    del arrays["order"]
    return {
        "head": head,
        "measure": measure,
        "decile": np.full(len(head), STRONGEST),
        "rank": rank,
        "document": places.top.document[at],
        **{name: array[at] for name, array in arrays.items()},
    }


def _of_deciles(places: Places) -> dict[str, Any]:
    drawn, count = places.drawn, len(places.drawn)
    bins: list[Any] = []  # of every measure, n H
    for measure, name in enumerate(places.names):
        values = torch.from_numpy(drawn.values[:count, :, measure].copy())
        bins.append(bins_of(values, *limits(name)).numpy())

    def rows(measure: int) -> Any:
        counts, each = places.histogram[:, measure], places.settings.per_decile
        found = chosen(bins[measure], drawn.document[:count], counts, each)
        return np.insert(found, 0, measure, axis=1)

    none = np.zeros((0, 5), dtype=np.int64)
    every = of_each(rows, range(len(bins)))
    measure, head, decile, rank, place = np.concatenate([none, *every]).T
    return {
        "head": head,
        "measure": measure,
        "decile": decile,
        "rank": rank,
        "document": drawn.document[place],
        "query": drawn.query[place],
        "value": drawn.values[place, head, measure],
        "keys": drawn.keys[place, head],
        "weights": drawn.weights[place, head],
    }


def _frame(kind: Kind, heads: Heads, places: Places, found: Mapping[str, Any]) -> pd.DataFrame:
    numbers = np.array(heads)[found["head"]]
    keys, weights = found["keys"], found["weights"]
    count = (keys >= 0).sum(1)
    return pd.DataFrame(
        {
            "kind": kind,
            "layer": numbers[:, 0],
            "head": numbers[:, 1],
            "measure": np.array(places.names, dtype=object)[found["measure"]],
            "decile": found["decile"].astype(np.int8),
            "rank": found["rank"].astype(np.int16 if places.settings.top <= 2**15 else np.int32),
            "value": found["value"],
            "document": found["document"],
            "query": found["query"],
            "key": keys[:, 0],
            "weight": weights[:, 0],
            "keys": _cut(keys, count),
            "weights": _cut(weights, count),
        }
    )


def _cut(rows: Any, count: Any) -> list[Any]:
    """The first of each row, so many as are counted: nearly always all."""
    made = list(rows)
    for at in np.flatnonzero(count < rows.shape[1]).tolist():
        made[at] = made[at][: count[at]]
    return made


def deciles(kind: Kind, heads: Heads, places: Places) -> pd.DataFrame:
    """Between which values each decile of each head and measure lies, and of how many places."""
    bounds = [
        bounds_of(places.histogram[:, measure], *limits(name))
        for measure, name in enumerate(places.names)
    ]
    count = places.histogram.sum(2)
    head, measure, decile = np.nonzero(np.repeat(count[..., None] > 0, DECILES, axis=2))
    order = _order(heads, places.names, head, measure, decile)
    head, measure, decile = head[order], measure[order], decile[order]
    numbers, edges = np.array(heads)[head], np.stack(bounds)
    return pd.DataFrame(
        {
            "kind": kind,
            "layer": numbers[:, 0],
            "head": numbers[:, 1],
            "measure": np.array(places.names, dtype=object)[measure],
            "decile": decile.astype(np.int8),
            "low": edges[measure, head, decile],
            "high": edges[measure, head, decile + 1],
            "places": count[head, measure],
        }
    )


def limits(name: str) -> tuple[float, float]:
    """The range of a measure that is judged place by place."""
    measure = find(name)
    assert measure is not None, name
    return measure.low, measure.high


def documents(
    places: Mapping[Kind, Places],
    shown: pd.DataFrame,
    spelled: Spelled | None,
    words: Mapping[Kind, Mapping[int, Words]],
) -> pd.DataFrame:
    """The texts that examples stand in; those of cross attention stand in one of each side.

    `speech` is each token's part of speech, an empty list where a text's are not known.
    """
    columns = ["kind", "document", "tokens", "ids", "segments", "classes", "continues", "speech"]
    if spelled is None:
        return pd.DataFrame({name: pd.Series(dtype=object) for name in columns})
    texts: dict[tuple[Kind, int], Any] = {}
    numbers: Any = shown["document"].to_numpy()
    for kind, of_kind in places.items():
        for number in np.unique(numbers[shown["kind"] == kind]).tolist():
            texts["decoder" if kind == "cross" else kind, number] = of_kind.texts[number]
            if kind == "cross":
                texts["encoder", number] = of_kind.key_texts[number]

    def speech(kind: Kind, number: int) -> list[str]:
        known = words.get(kind, {}).get(number)
        return [] if known is None else known.speech_of_tokens

    order = sorted(texts.items())
    tokens = spelled(np.concatenate([np.zeros(0, np.int32), *(text.ids for _, text in order)]))
    ends = np.cumsum([len(text.ids) for _, text in order]).tolist()
    rows = [
        (kind, number, tokens[end - len(text.ids) : end], text.ids, text.segments, text.classes,
         text.continues, speech(kind, number))
        for ((kind, number), text), end in zip(order, ends, strict=True)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)
