"""The tables of examples, of their deciles, and of their texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.capture import Kind

if TYPE_CHECKING:
    from headscope.atlas.collecting.examples import Examples
    from headscope.atlas.collecting.reducer import Collected
    from headscope.atlas.collecting.texts import KeptText
    from headscope.atlas.words import Spelled, Words
    from headscope.surveys.reducer import Heads

STRONGEST = -1  # the decile of an example that is among the strongest
DECILES = 10
DIGITS = 6  # values tie if they agree to this many digits after the point
COLUMNS = [
    "kind", "layer", "head", "measure", "decile", "rank", "value", "document", "query",
    "query_token", "key", "key_token", "weight", "keys", "weights",
]  # fmt: skip


def examples(
    kind: Kind, collected: Collected, per_decile: int, spelled: Spelled | None
) -> pd.DataFrame:
    """The strongest examples of every head and measure, and some of every decile."""
    heads, of_kind = collected.heads, collected.examples
    parts = [_strongest(of_kind), _of_deciles(of_kind, per_decile)]
    found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = _order(heads, of_kind.names, found["head"], found["measure"], found["decile"])
    frame: Any = _frame(kind, heads, of_kind, {name: of[order] for name, of in found.items()})
    of_keys = of_kind.key_texts or of_kind.texts
    for column, position, texts in (
        ("query_token", "query", of_kind.texts),
        ("key_token", "key", of_keys),
    ):
        if spelled is None:
            frame[column] = ""
            continue
        number, token = frame["document"].to_numpy(), frame[position].to_numpy()
        names = spelled(_ids_at(texts, number, np.maximum(token, 0)))
        # a disabled head gives no key any weight
        frame[column] = np.where(token < 0, "", np.array(names, dtype=object))
    return frame[COLUMNS]


def _order(heads: Heads, names: Sequence[str], head: Any, measure: Any, decile: Any) -> Any:
    """Rows sorted by layer, head, measure and decile, otherwise in their order."""
    of_head = np.argsort(np.lexsort(np.array(heads).T[::-1]))
    of_measure = np.argsort(np.argsort(np.array(names)))
    codes = of_head[head] * len(names) + of_measure[measure]
    return np.argsort(codes * (DECILES + 1) + decile - STRONGEST, kind="stable")


def _ids_at(texts: Mapping[int, KeptText], number: Any, token: Any) -> Any:
    """The tokens at some positions of texts."""
    order = sorted(texts)
    ids = [texts[one].ids for one in order]
    starts = np.cumsum([0, *map(len, ids)])[:-1]
    which = np.searchsorted(np.array(order, dtype=np.int64), number)
    return np.concatenate([*ids, np.zeros(0, dtype=np.int32)])[starts[which] + token]


def _strongest(of_kind: Examples) -> dict[str, Any]:
    arrays = of_kind.strongest.arrays()
    head, measure, rank = at = np.nonzero(arrays["document"] >= 0)
    del arrays["order"]
    return {
        "head": head,
        "measure": measure,
        "decile": np.full(len(head), STRONGEST),
        "rank": rank,
        **{name: array[at] for name, array in arrays.items()},
    }


def _of_deciles(of_kind: Examples, each: int) -> dict[str, Any]:
    """The first drawn positions of every decile, of different documents."""
    drawn, parts = of_kind.drawn, list[Any]()
    for measure in range(len(of_kind.names)):
        decile = decile_of(drawn.value[:, :, measure])
        at, head = np.nonzero(decile >= 0)  # in the order they were drawn
        columns = {"head": head, "decile": decile[at, head], "document": drawn.document[at]}
        rows = pd.DataFrame({**columns, "at": at, "measure": measure}).drop_duplicates([*columns])
        rows["rank"] = rows.groupby(["head", "decile"]).cumcount()
        parts.append(rows[rows["rank"] < each])
    rows = pd.concat(parts)
    found = {name: rows[name].to_numpy() for name in ("head", "measure", "decile", "rank", "at")}
    at, head = found.pop("at"), found["head"]
    return {
        **found,
        "document": drawn.document[at],
        "query": drawn.query[at],
        "value": drawn.value[at, head, found["measure"]],
        "keys": drawn.keys[at, head],
        "weights": drawn.weights[at, head],
    }


def decile_of(values: NDArray[np.float32]) -> NDArray[np.int64]:
    """The decile of each value (n H) among those of its head, by rank; -1 where there is none.

    Values that tie share the decile in the middle of their ranks, so others may stay empty.
    """
    from scipy.stats import rankdata

    rounded = np.round(values.astype(np.float64), DIGITS)
    ranks = rankdata(rounded, method="average", axis=0, nan_policy="omit") - 0.5
    count = np.isfinite(rounded).sum(0)
    found = np.floor(DECILES * ranks / np.maximum(count, 1))
    return np.nan_to_num(found, nan=-1).astype(np.int64)


def _frame(kind: Kind, heads: Heads, of_kind: Examples, found: Mapping[str, Any]) -> pd.DataFrame:
    numbers = np.array(heads)[found["head"]]
    keys, weights = found["keys"], found["weights"]
    count = (keys >= 0).sum(1)
    return pd.DataFrame(
        {
            "kind": kind,
            "layer": numbers[:, 0],
            "head": numbers[:, 1],
            "measure": np.array(of_kind.names, dtype=object)[found["measure"]],
            "decile": found["decile"].astype(np.int8),
            "rank": found["rank"].astype(np.int32),
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
    """The first `count` entries of each row: nearly always all."""
    made = list(rows)
    for at in np.flatnonzero(count < rows.shape[1]).tolist():
        made[at] = made[at][: count[at]]
    return made


def deciles(kind: Kind, collected: Collected) -> pd.DataFrame:
    """The least and largest value of the drawn positions in each decile of each head and measure.

    `share` is the share of the drawn positions in it: above a tenth where values tie, and then
    other deciles have no row. `positions` is how many of the corpus have a value.
    """
    heads, of_kind = collected.heads, collected.examples
    parts: list[pd.DataFrame] = []
    for measure, name in enumerate(of_kind.names):
        values = of_kind.drawn.value[:, :, measure]
        decile = decile_of(values)
        at, head = np.nonzero(decile >= 0)
        rows = pd.DataFrame(
            {"at": head, "decile": decile[at, head].astype(np.int8), "value": values[at, head]}
        )
        found: Any = rows.groupby(["at", "decile"])["value"].agg(["min", "max", "size"])
        found = found.reset_index().rename(columns={"min": "low", "max": "high"})
        found["share"] = found["size"] / found.groupby("at")["size"].transform("sum")
        parts.append(found.assign(measure=name, positions=of_kind.positions[found["at"], measure]))
    frame: Any = pd.concat(parts, ignore_index=True)
    numbers = np.array(heads)[frame["at"]]
    frame = frame.assign(kind=kind, layer=numbers[:, 0], head=numbers[:, 1])
    columns = ["kind", "layer", "head", "measure", "decile", "low", "high", "share", "positions"]
    order = ["layer", "head", "measure", "decile"]
    return frame[columns].sort_values(order, kind="stable").reset_index(drop=True)


def documents(
    collected: Mapping[Kind, Collected],
    shown: pd.DataFrame,
    spelled: Spelled | None,
    words: Mapping[Kind, Mapping[int, Words]],
) -> pd.DataFrame:
    """The texts of the examples; an example of cross attention has two, one of each side.

    `speech` has each token's part of speech; the list is empty if a text was not parsed.
    """
    columns = ["kind", "document", "tokens", "ids", "segments", "classes", "continues", "speech"]
    if spelled is None:
        return pd.DataFrame({name: pd.Series(dtype=object) for name in columns})
    texts: dict[tuple[Kind, int], Any] = {}
    numbers: Any = shown["document"].to_numpy()
    for kind, of_kind in collected.items():
        for number in np.unique(numbers[shown["kind"] == kind]).tolist():
            texts["decoder" if kind == "cross" else kind, number] = of_kind.examples.texts[number]
            if kind == "cross":
                texts["encoder", number] = of_kind.examples.key_texts[number]

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
