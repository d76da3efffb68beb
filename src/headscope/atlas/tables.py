"""From what was counted to the tables of an atlas."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from headscope.atlas.atlas import Atlas
from headscope.atlas.profiles import profile_table
from headscope.capture import Kind
from headscope.measures import find
from headscope.patterns.evidence import table as evidence
from headscope.patterns.known import patterns
from headscope.runs import model_fingerprint
from headscope.statistics.places.settings import TENTHS, PlaceSettings
from headscope.statistics.survey.table import Survey, from_tally
from headscope.text.vocabulary import vocabulary_of

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.statistics.places.lists import PlaceList
    from headscope.statistics.places.places import Places
    from headscope.statistics.survey.tally import Heads, Tally


def atlas_of(
    scope: Scope, tally: Tally, about: dict[str, Any], settings: PlaceSettings, *, text: bool
) -> Atlas:
    """The atlas of a pass; without text no token of the corpus is in it."""
    survey = from_tally(tally, about, about.get("interval"))
    spelled = _Spelled(scope.tokenizer) if text else None
    frames: dict[str, list[pd.DataFrame]] = {}
    for kind, places in tally.places.items():
        heads = tally.heads[kind]
        frames.setdefault("examples", []).append(_examples(kind, heads, places, spelled))
        frames.setdefault("tenths", []).append(_tenths(kind, heads, places))
        frames.setdefault("documents", []).append(_documents(kind, places, spelled))
        frames.setdefault("profiles", []).append(profile_table(kind, heads, places, spelled))
    tables: dict[str, pd.DataFrame] = {
        "heads": survey.table,
        "labels": _labels(survey),
        **{name: pd.concat(parts, ignore_index=True) for name, parts in frames.items()},
    }
    if survey.pairs:
        tables["distances"] = pd.concat([_distances(survey, kind) for kind in survey.pairs])
        tables["groups"] = pd.concat([_groups(survey, kind) for kind in survey.pairs])
    description = _description(survey, tally, about, settings, text)
    return Atlas({**description, "weights": model_fingerprint(scope.model)}, tables)


class _Spelled:
    """Tokens as people read them."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def __call__(self, ids: Any) -> list[str]:
        numbers = np.asarray(ids, dtype=np.int64)
        return list(vocabulary_of(self._tokenizer, numbers).labels(numbers)) if len(numbers) else []


def _description(
    survey: Survey, tally: Tally, about: dict[str, Any], settings: PlaceSettings, text: bool
) -> dict[str, Any]:
    kept = {name: about[name] for name in ("model", "segments", "tokens", "truncated", "complete")}
    shape = {
        kind: [1 + max(layer for layer, _ in heads), 1 + max(head for _, head in heads)]
        for kind, heads in tally.heads.items()
    }
    return {
        **kept,
        "corpus": about["corpus"],
        "headscope": about["version"],
        "not measured": about["not measured"],
        "text": text,
        "settings": {**about["settings"], **settings.described},
        "shape": shape,
        "measures": [described(name) for name in survey.measures if find(name) and ":" not in name],
        "examples_of": {kind: list(places.names) for kind, places in tally.places.items()},
    }


def described(name: str) -> dict[str, Any]:
    """A measure as a file says it."""
    measure = find(name)
    assert measure is not None, name
    kept = asdict(measure)
    names = ("name", "title", "sentence", "unit", "low", "high", "formula", "paper", "origin")
    # JSON knows no infinity: a range without an end has none
    return {
        name: None if isinstance(kept[name], float) and math.isinf(kept[name]) else kept[name]
        for name in names
    }


def _labels(survey: Survey) -> pd.DataFrame:
    known = patterns()
    frame = evidence(survey.table, known)
    frame.insert(4, "label", [known[name].label for name in frame["pattern"]])
    return frame


def _examples(kind: Kind, heads: Heads, places: Places, spelled: _Spelled | None) -> pd.DataFrame:
    strongest = _of_list(kind, heads, places, places.top, None)
    drawn = [_of_list(kind, heads, places, places.tenths, tenth) for tenth in range(TENTHS)]
    frame: Any = pd.concat([strongest, *drawn], ignore_index=True)
    frame = frame.sort_values(["layer", "head", "measure", "tenth", "rank"], kind="stable")
    texts = places.texts
    at = list(zip(frame["document"], frame["query"], frame["key"], strict=True))
    for column, place in (("query_token", 1), ("key_token", 2)):
        ids = [texts[row[0]].ids[row[place]] for row in at] if spelled is not None else None
        frame[column] = [""] * len(at) if spelled is None or ids is None else spelled(ids)
    order = [
        "kind", "layer", "head", "measure", "tenth", "rank", "value", "document", "query",
        "query_token", "key", "key_token", "weight", "keys", "weights",
    ]  # fmt: skip
    return frame[order].reset_index(drop=True)


def _of_list(
    kind: Kind, heads: Heads, places: Places, found: PlaceList, tenth: int | None
) -> pd.DataFrame:
    """The filled slots of a list; `tenth` chooses one of a list of tenths."""
    arrays = found.arrays()
    if tenth is not None:
        arrays = {name: array[:, :, tenth] for name, array in arrays.items()}
    document = arrays["document"]
    head, measure, rank = np.nonzero(document >= 0)
    numbers = np.array(heads)
    keys, weights = arrays["keys"][head, measure, rank], arrays["weights"][head, measure, rank]
    count = (keys >= 0).sum(1)
    return pd.DataFrame(
        {
            "kind": kind,
            "layer": numbers[head, 0],
            "head": numbers[head, 1],
            "measure": np.array(places.names, dtype=object)[measure],
            "tenth": np.int8(-1 if tenth is None else tenth),
            "rank": rank.astype(np.int16),
            "value": arrays["value"][head, measure, rank],
            "document": document[head, measure, rank],
            "query": arrays["query"][head, measure, rank],
            "key": keys[:, 0],
            "weight": weights[:, 0],
            "keys": [row[:n] for row, n in zip(keys, count, strict=True)],
            "weights": [row[:n] for row, n in zip(weights, count, strict=True)],
        }
    )


def _tenths(kind: Kind, heads: Heads, places: Places) -> pd.DataFrame:
    head, measure, tenth = np.indices(places.histogram.shape).reshape(3, -1)
    numbers = np.array(heads)
    return pd.DataFrame(
        {
            "kind": kind,
            "layer": numbers[head, 0],
            "head": numbers[head, 1],
            "measure": np.array(places.names, dtype=object)[measure],
            "tenth": tenth.astype(np.int8),
            "count": places.histogram.ravel(),
        }
    )


def _documents(kind: Kind, places: Places, spelled: _Spelled | None) -> pd.DataFrame:
    columns = ["kind", "document", "tokens", "ids", "segments", "classes", "continues"]
    if spelled is None:
        return pd.DataFrame({name: pd.Series(dtype=object) for name in columns})
    texts = sorted(places.texts.items())
    rows = [
        (kind, number, spelled(text.ids), text.ids, text.segments, text.classes, text.continues)
        for number, text in texts
    ]
    return pd.DataFrame(rows, columns=columns)


def _distances(survey: Survey, kind: Kind) -> pd.DataFrame:
    pairs = survey.pairs[kind]
    numbers = np.array(pairs.heads)
    one, other = np.nonzero(~np.eye(len(numbers), dtype=bool))
    return pd.DataFrame(
        {
            "kind": kind,
            "layer": numbers[one, 0],
            "head": numbers[one, 1],
            "other_layer": numbers[other, 0],
            "other_head": numbers[other, 1],
            "distance": pairs.values[one, other],
        }
    )


def _groups(survey: Survey, kind: Kind) -> pd.DataFrame:
    if len(survey.pairs[kind].heads) < 3:
        return pd.DataFrame(columns=["kind", "layer", "head", "x", "y", "group"])
    found = survey.clusters(kind)
    numbers = np.array(found.heads)
    return pd.DataFrame(
        {
            "kind": kind,
            "layer": numbers[:, 0],
            "head": numbers[:, 1],
            "x": found.positions[:, 0],
            "y": found.positions[:, 1],
            "group": found.groups,
        }
    )
