"""From what was collected to the tables of an atlas."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from headscope.atlas.atlas import Atlas
from headscope.atlas.collecting.reducer import Collected
from headscope.atlas.collecting.settings import ExampleSettings
from headscope.atlas.example_tables import deciles, documents, examples
from headscope.atlas.profiles import profile_table
from headscope.atlas.treebank import trees_of
from headscope.atlas.words import Spelled, Words, words_behind
from headscope.capture import Kind
from headscope.measures import find
from headscope.patterns.evidence import table as evidence
from headscope.patterns.pattern import patterns
from headscope.statistics.distances.clusters import group, scale
from headscope.surveys.table import Survey

if TYPE_CHECKING:
    from headscope.reading import Scope

LARGEST_GROUP = 0.75  # share of the heads, where a cut with smaller groups exists


def atlas_of(
    scope: Scope,
    survey: Survey,
    collected: Mapping[Kind, Collected],
    settings: ExampleSettings,
    *,
    weights: Callable[[], str],
    corpus: Any = None,
) -> Atlas:
    """The atlas of a pass: its survey, and the examples and counts collected beside it.

    `weights` gives the fingerprint of the model's weights.
    """
    tables = _tables(scope, survey, collected, settings, corpus)
    description = _description(survey, collected, settings)
    return Atlas({**description, "weights": weights()}, tables)


def _tables(
    scope: Scope,
    survey: Survey,
    collected: Mapping[Kind, Collected],
    settings: ExampleSettings,
    corpus: Any,
) -> dict[str, pd.DataFrame]:
    trees = trees_of(corpus) if settings.text else None
    spelled = Spelled(scope.tokenizer) if settings.text else None
    frames: dict[str, list[pd.DataFrame]] = {"examples": [], "deciles": [], "profiles": []}
    words: dict[Kind, dict[int, Words]] = {}
    for kind, of_kind in collected.items():
        shown = examples(kind, of_kind, settings.per_decile, spelled)
        frames["examples"].append(shown)
        frames["deciles"].append(deciles(kind, of_kind))
        behind = {} if kind == "cross" else words_behind(of_kind.examples, shown, spelled, trees)
        words[kind] = behind
        frames["profiles"].append(
            profile_table(scope, kind, of_kind, spelled, behind, survey.metadata["segments"])
        )
    tables = {name: pd.concat(parts, ignore_index=True) for name, parts in frames.items()}
    tables["documents"] = documents(collected, tables["examples"], spelled, words)
    tables["heads"] = survey.table
    tables["labels"] = _labels(survey.table)
    if survey.pairs:
        each: dict[Kind, pd.DataFrame] = {kind: _distances(survey, kind) for kind in survey.pairs}
        tables["distances"] = pd.concat(each.values(), ignore_index=True)
        groups = [_groups(survey, kind) for kind in each]
        tables["groups"] = pd.concat(groups, ignore_index=True)
    return tables


def _description(
    survey: Survey, collected: Mapping[Kind, Collected], settings: ExampleSettings
) -> dict[str, Any]:
    about = survey.metadata
    kept = {name: about[name] for name in ("model", "segments", "tokens", "truncated", "complete")}
    shape = {
        kind: [1 + max(layer for layer, _ in of.heads), 1 + max(head for _, head in of.heads)]
        for kind, of in collected.items()
    }
    lost = _lost(collected) if settings.text else {}
    return {
        **kept,
        # a survey's fingerprint depends on how the corpus was cut, an atlas's does not
        "corpus": {name: of for name, of in about["corpus"].items() if name != "fingerprint"},
        "headscope": about["version"],
        "not measured": about["not measured"],
        "text": settings.text,
        "settings": {**about["settings"], **settings.described},
        "shape": shape,
        "measures": [described(name) for name in survey.measures if find(name) and ":" not in name],
        "examples_of": {kind: list(of.examples.names) for kind, of in collected.items()},
        **({"lost": lost} if lost else {}),
    }


def _lost(collected: Mapping[Kind, Collected]) -> dict[str, dict[str, int]]:
    """By kind and head, how much a pair's count may be too low, if it may be."""
    found = {
        kind: {
            f"{layer}-{head}": int(count)
            for (layer, head), count in zip(of.heads, of.counts.lost.tolist(), strict=True)
            if count
        }
        for kind, of in collected.items()
    }
    return {kind: of_kind for kind, of_kind in found.items() if of_kind}


def described(name: str) -> dict[str, Any]:
    """A measure as the file describes it."""
    measure = find(name)
    assert measure is not None, name
    kept = asdict(measure)
    names = ("name", "title", "sentence", "unit", "low", "high", "formula", "paper", "origin")
    # JSON has no infinity: an open range has no end
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
            "distance": pairs.values[one, other],
        }
    )


def _groups(survey: Survey, kind: Kind) -> pd.DataFrame:
    heads, matrix = survey.pairs[kind].heads, survey.pairs[kind].values
    if len(heads) < 3:
        return pd.DataFrame(columns=["kind", "layer", "head", "x", "y", "group"])
    positions, _ = scale(matrix, seed=0, starts=0)
    numbers = np.array(heads)
    return pd.DataFrame(
        {
            "kind": kind,
            "layer": numbers[:, 0],
            "head": numbers[:, 1],
            "x": positions[:, 0],
            "y": positions[:, 1],
            "group": group(matrix, None, most=LARGEST_GROUP),
        }
    )
