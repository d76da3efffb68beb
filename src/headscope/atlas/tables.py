"""From what was counted to the tables of an atlas."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.atlas.atlas import Atlas
from headscope.atlas.place_tables import deciles, documents, examples
from headscope.atlas.profiles import profile_table
from headscope.atlas.spelled import Spelled
from headscope.atlas.treebank import trees_of
from headscope.atlas.words import Words, words_behind
from headscope.capture import Kind
from headscope.measures import find
from headscope.patterns.evidence import table as evidence
from headscope.patterns.known import patterns
from headscope.runs import uncollected
from headscope.statistics.distances.clusters import group, scale
from headscope.statistics.places.settings import PlaceSettings
from headscope.surveys.table import Survey, from_tally

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.statistics.survey.tally import Tally

DIGITS = 12
LARGEST_GROUP = 0.75  # share of the heads, where they can be divided more evenly


def atlas_of(
    scope: Scope,
    tally: Tally,
    about: dict[str, Any],
    settings: PlaceSettings,
    *,
    weights: Callable[[], str],
    text: bool,
    corpus: Any = None,
) -> Atlas:
    """The atlas of a pass; `weights` tells their fingerprint, and without text no token of the
    corpus is in it."""
    with uncollected():
        tables, survey = _tables(scope, tally, about, text, corpus)
        description = _description(survey, tally, about, settings, text)
        return Atlas({**description, "weights": weights()}, tables)


def _tables(
    scope: Scope, tally: Tally, about: dict[str, Any], text: bool, corpus: Any
) -> tuple[dict[str, pd.DataFrame], Survey]:
    trees = trees_of(corpus) if text else None
    survey = from_tally(tally, about, about.get("interval"))
    spelled = Spelled(scope.tokenizer) if text else None
    frames: dict[str, list[pd.DataFrame]] = {"examples": [], "deciles": [], "profiles": []}
    words: dict[Kind, dict[int, Words]] = {}
    for kind, places in tally.places.items():
        heads = tally.heads[kind]
        shown = examples(kind, heads, places, spelled)
        frames["examples"].append(shown)
        frames["deciles"].append(deciles(kind, heads, places))
        words[kind] = {} if kind == "cross" else words_behind(places, shown, spelled, trees)
        frames["profiles"].append(profile_table(scope, kind, heads, places, spelled, words[kind]))
    tables = {name: pd.concat(parts, ignore_index=True) for name, parts in frames.items()}
    tables["documents"] = documents(tally.places, tables["examples"], spelled, words)
    tables["heads"] = _settled(survey.table)
    tables["labels"] = _settled(_labels(tables["heads"]))
    if survey.pairs:
        each: dict[Kind, pd.DataFrame] = {kind: _distances(survey, kind) for kind in survey.pairs}
        tables["distances"] = pd.concat(each.values(), ignore_index=True)
        tables["groups"] = pd.concat(
            [_groups(survey, kind, frame) for kind, frame in each.items()], ignore_index=True
        )
    return tables, survey


def _settled(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers to twelve significant digits: what lies below depends on the order of sums."""
    columns = {
        name: settled(frame[name].to_numpy(dtype=np.float64))
        for name in frame.select_dtypes("float")
    }
    return frame.assign(**columns)


def settled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        size = np.floor(np.log10(np.abs(values)))
        scale = 10.0 ** (DIGITS - 1 - np.where(np.isfinite(size), size, 0))
        rounded = np.rint(values * scale) / scale
    return np.where(np.isfinite(rounded), rounded, values)


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
        # its fingerprint tells runs apart by how they cut the corpus, which an atlas does not
        "corpus": {name: of for name, of in about["corpus"].items() if name != "fingerprint"},
        "headscope": about["version"],
        "not measured": about["not measured"],
        "text": text,
        "settings": {**about["settings"], **settings.described},
        "shape": shape,
        "measures": [described(name) for name in survey.measures if find(name) and ":" not in name],
        "examples_of": {kind: list(places.names) for kind, places in tally.places.items()},
        **({"lost": lost} if text and (lost := _lost(tally)) else {}),
    }


def _lost(tally: Tally) -> dict[str, dict[str, int]]:
    """By kind and head what the count of a pair of tokens may lack, where it may lack anything."""
    found = {
        kind: {
            f"{layer}-{head}": count
            for (layer, head), count in zip(
                tally.heads[kind], places.counts.lost.tolist(), strict=True
            )
            if count
        }
        for kind, places in tally.places.items()
    }
    return {kind: of_kind for kind, of_kind in found.items() if of_kind}


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


def _labels(heads: pd.DataFrame) -> pd.DataFrame:
    known = patterns()
    frame = evidence(heads, known)
    frame.insert(4, "label", [known[name].label for name in frame["pattern"]])
    return frame


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
            "distance": settled(pairs.values)[one, other],
        }
    )


def _groups(survey: Survey, kind: Kind, distances: pd.DataFrame) -> pd.DataFrame:
    heads = survey.pairs[kind].heads
    if len(heads) < 3:
        return pd.DataFrame(columns=["kind", "layer", "head", "x", "y", "group"])
    matrix = np.zeros((len(heads), len(heads)))
    matrix[~np.eye(len(heads), dtype=bool)] = distances["distance"].to_numpy()
    positions, _ = scale(matrix, seed=0, starts=0)
    numbers = np.array(heads)
    return pd.DataFrame(
        {
            "kind": kind,
            "layer": numbers[:, 0],
            "head": numbers[:, 1],
            "x": settled(positions[:, 0]),
            "y": settled(positions[:, 1]),
            "group": group(matrix, None, most=LARGEST_GROUP),
        }
    )
