"""The tables of places: examples, deciles, and the texts they stand in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch

from headscope.capture import Kind
from headscope.measures import find
from headscope.statistics.places.deciles import DECILES, bins_of, bounds_of, chosen

if TYPE_CHECKING:
    from headscope.atlas.spelled import Spelled
    from headscope.atlas.words import Words
    from headscope.statistics.places.places import Places
    from headscope.statistics.places.texts import KeptText
    from headscope.statistics.survey.tally import Heads

STRONGEST = -1  # the decile of a place that is among the strongest
COLUMNS = [
    "kind", "layer", "head", "measure", "decile", "rank", "value", "document", "query",
    "query_token", "key", "key_token", "weight", "keys", "weights",
]  # fmt: skip


def examples(kind: Kind, heads: Heads, places: Places, spelled: Spelled | None) -> pd.DataFrame:
    """The strongest places of every head and measure, and those of every decile."""
    frame: Any = pd.concat(
        [_strongest(kind, heads, places), _of_deciles(kind, heads, places)], ignore_index=True
    )
    frame = frame.sort_values(["layer", "head", "measure", "decile", "rank"], kind="stable")
    of_keys = places.key_texts or places.texts
    for column, place, texts in (
        ("query_token", "query", places.texts),
        ("key_token", "key", of_keys),
    ):
        if spelled is None:
            frame[column] = ""
            continue
        number, token = frame["document"].to_numpy(), frame[place].to_numpy()
        frame[column] = spelled(_ids_at(texts, number, token))
    return frame[COLUMNS].reset_index(drop=True)


def _ids_at(texts: Mapping[int, KeptText], number: Any, token: Any) -> Any:
    """The tokens at some places of texts."""
    wanted, which = np.unique(number, return_inverse=True)
    ids = [texts[one].ids for one in wanted.tolist()]
    starts = np.cumsum([0, *map(len, ids)])[:-1]
    # a place counted from the end would be another text's
    assert (token >= 0).all()
    return np.concatenate([*ids, np.zeros(0, dtype=np.int32)])[starts[which] + token]


def _strongest(kind: Kind, heads: Heads, places: Places) -> pd.DataFrame:
    arrays = places.top.arrays()
    at = np.nonzero(arrays["document"] >= 0)
    found = {name: array[at] for name, array in arrays.items()}
    return _frame(kind, heads, places, at[0], at[1], at[2], np.full(len(at[0]), STRONGEST), found)


def _of_deciles(kind: Kind, heads: Heads, places: Places) -> pd.DataFrame:
    drawn, count = places.drawn, len(places.drawn)
    rows: list[Any] = [np.zeros((0, 5), dtype=np.int64)]  # measure, head, decile, rank, place
    for measure, name in enumerate(places.names):
        values = torch.from_numpy(drawn.values[:count, :, measure].copy())
        bins = bins_of(values, *limits(name)).numpy()  # n H
        counts, each = places.histogram[:, measure], places.settings.per_decile
        found = chosen(bins, drawn.document[:count], counts, each)
        rows.append(np.insert(found, 0, measure, axis=1))
    measure, head, decile, rank, place = np.concatenate(rows).T
    arrays = {
        "document": drawn.document[place],
        "query": drawn.query[place],
        "value": drawn.values[place, head, measure],
        "keys": drawn.keys[place, head],
        "weights": drawn.weights[place, head],
    }
    return _frame(kind, heads, places, head, measure, rank, decile, arrays)


def _frame(
    kind: Kind,
    heads: Heads,
    places: Places,
    head: Any,
    measure: Any,
    rank: Any,
    decile: Any,
    found: Mapping[str, Any],
) -> pd.DataFrame:
    numbers = np.array(heads)
    keys, weights = found["keys"], found["weights"]
    count = (keys >= 0).sum(1)
    return pd.DataFrame(
        {
            "kind": kind,
            "layer": numbers[head, 0],
            "head": numbers[head, 1],
            "measure": np.array(places.names, dtype=object)[measure],
            "decile": decile.astype(np.int8),
            "rank": rank.astype(np.int16),
            "value": found["value"],
            "document": found["document"],
            "query": found["query"],
            "key": keys[:, 0],
            "weight": weights[:, 0],
            "keys": [row[:n] for row, n in zip(keys, count, strict=True)],
            "weights": [row[:n] for row, n in zip(weights, count, strict=True)],
        }
    )


def deciles(kind: Kind, heads: Heads, places: Places) -> pd.DataFrame:
    """Between which values each decile of each head and measure lies, and of how many places."""
    parts: list[pd.DataFrame] = []
    numbers = np.array(heads)
    for measure, name in enumerate(places.names):
        counts = places.histogram[:, measure]
        bounds = bounds_of(counts, *limits(name))
        head, decile = np.indices((len(heads), DECILES)).reshape(2, -1)
        frame = pd.DataFrame(
            {
                "kind": kind,
                "layer": numbers[head, 0],
                "head": numbers[head, 1],
                "measure": name,
                "decile": decile.astype(np.int8),
                "low": bounds[:, :-1].ravel(),
                "high": bounds[:, 1:].ravel(),
                "places": np.repeat(counts.sum(1), DECILES),
            }
        )
        parts.append(frame.loc[frame["places"] > 0])
    order = ["layer", "head", "measure", "decile"]
    return pd.concat(parts, ignore_index=True).sort_values(order, kind="stable")


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
