"""Bad calls of the public functions: each argument in turn something that cannot be used."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

import headscope as hs
from headscope.corpus.sample import OPINIONS
from headscope.tasks.files import read_task
from tests.tiny import tiny_scope

Call = Callable[[dict[str, str]], Any]
NOTHING = [None, 3, b"bytes", object()]
WRONG_CORPUS = [*NOTHING, "nowhere.txt", [], [3, None], {"text": "a"}, "{binary}", "{gz}"]
WRONG_NUMBER = [0, -1]
TEXTS = ["the cat sat on the mat", "a dog ran to the house"]
quiet = {"progress": False}


@lru_cache
def bert() -> Any:
    return tiny_scope("BertForMaskedLM")


@lru_cache
def judge() -> Any:
    return tiny_scope("BertForSequenceClassification")


@lru_cache
def writer() -> Any:
    return tiny_scope("GPT2LMHeadModel")


@lru_cache
def reading() -> Any:
    return bert().read("the cat sat", "a dog ran")


def _functions() -> dict[str, tuple[Callable[..., Any], dict[str, Any], dict[str, list[Any]]]]:
    """Each public function, a sound call of it, and what is wrong for each argument."""
    long = {"limit": WRONG_NUMBER, "output": ["o.xlsx", "missing/o.csv", "."]}
    task = read_task(OPINIONS)
    corpus = {"scope": NOTHING, "corpus": WRONG_CORPUS, **long}
    view = {"reading": [*NOTHING, "text"], "layer": [99, -1, "x"], "theme": ["blue"]}
    trees = {"scope": NOTHING, "treebank": [*NOTHING, "nowhere.conllu", "{binary}", []], **long}
    pair = {"scope": writer(), "clean": "the cat sat", "corrupted": "the dog sat", "metric": "mat"}
    return {
        "survey": (hs.survey, {"scope": bert(), "corpus": TEXTS, **quiet},
                   {**corpus, "statistics": ["nope", ["nope"], 3], "max_tokens": [2],
                    "interval": [2.0], "layout": ["nope"], "bad_data": ["nope"],
                    "segments": ["nope"]}),
        "patterns": (hs.patterns, {"scope": bert(), "corpus": TEXTS, **quiet},
                     {**corpus, "segments": ["nope"], "layout": ["nope"]}),
        "compare": (hs.compare, {"a": bert(), "b": bert(), "corpus": TEXTS, **quiet},
                    {"a": NOTHING, "b": [*NOTHING, judge_of_other_shape()],
                     "corpus": WRONG_CORPUS, **long}),
        "ablate": (hs.ablate, {"scope": judge(), "task": task, "draws": 10, **quiet},
                   {"scope": NOTHING, "task": [*NOTHING, "nowhere.tsv", "{binary}"],
                    "mode": ["nope"], **long}),
        "importance": (hs.importance, {"scope": judge(), "task": task, **quiet},
                       {"scope": NOTHING, "task": [*NOTHING, "nowhere.tsv"], "per": ["word"],
                        **long}),
        "finetune": (hs.finetune, {"source": bert(), "task": task, **quiet},
                     {"source": [3, b"bytes", "nowhere"], "task": [*NOTHING, "nowhere.tsv"],
                      "limit": WRONG_NUMBER}),
        "probe.dependency": (hs.probe.dependency, {"scope": bert(), "treebank": "sample", **quiet},
                             {**trees, "mode": ["nope"], "subtypes": ["nope"]}),
        "probe.features": (hs.probe.features, {"scope": bert(), "treebank": "sample", **quiet},
                           trees),
        "probe.coreference": (hs.probe.coreference,
                              {"scope": bert(), "documents": "sample", **quiet},
                              {"scope": NOTHING, "documents": [*NOTHING, "nowhere", "{binary}"],
                               **long}),
        "probe.relations": (hs.probe.relations, {"scope": bert(), "examples": "sample", **quiet},
                            {"scope": NOTHING, "examples": [*NOTHING, "nowhere", "{binary}"],
                             "shuffles": WRONG_NUMBER, **long}),
        "explain": (hs.explain, {"reading": reading(), "layer": 0, "head": 0,
                                 "pattern": "next_word"},
                    {"reading": NOTHING, "layer": [99, "x", None], "head": [99, "x"],
                     "pattern": ["nope"]}),
        "read": (bert().read, {"text": "the cat"},
                 {"text": [*NOTHING, "", [], ("a", "b", "c")], "text_pair": [3, b"x"],
                  "layers": [3, [99], ["x"]], "keep": [("weight",)],
                  "documents": [np.arange(3), 3]}),
        "load": (hs.load, {"model": "nowhere"},
                 {"model": [3, b"bytes", object(), "", "{empty}", "{half}", "{odd_config}"]}),
        "head_view": (hs.head_view, {"reading": reading()}, {**view, "heads": [[99], 99, ["x"]]}),
        "matrix_view": (hs.matrix_view, {"reading": reading()}, {**view, "head": [99]}),
        "neuron_view": (hs.neuron_view, {"reading": reading()}, {**view, "query": [99, "x"]}),
        "model_view": (hs.model_view, {"reading": reading()}, {"reading": NOTHING}),
        "head_map": (hs.head_map, {"source": reading()},
                     {"source": [*NOTHING, "text"], "column": ["nope"]}),
        "text_view": (hs.text_view, {"reading": reading()}, {**view, "heads": [[99], ["x"]]}),
        "head_scatter": (hs.head_scatter, {"source": reading()},
                         {"source": [*NOTHING, "text"], "x": ["nope"], "colour": ["nope"]}),
        "image_view": (hs.image_view, {"reading": reading()}, {"reading": [*NOTHING, reading()]}),
        "sound_view": (hs.sound_view, {"reading": reading()}, {"reading": [*NOTHING, reading()]}),
        "read a picture": (bert().read, {"image": "nowhere.png"},
                           {"image": [3, object(), "nowhere.png", "{binary}", "{text}"]}),
        "read a sound": (bert().read, {"audio": "nowhere.wav"},
                         {"audio": [3, object(), "nowhere.wav", "{binary}"]}),
        "atlas": (hs.atlas, {"scope": bert(), "corpus": TEXTS, **quiet},
                  {**corpus, "top": WRONG_NUMBER, "per_decile": [-1], "keys": WRONG_NUMBER,
                   "output": ["missing/o.atlas", "."]}),
        "Atlas.load": (hs.Atlas.load, {"path": "nowhere"},
                       {"path": ["nowhere", "{binary}", "{empty}", "{tar}"]}),
        "attribute": (hs.attribute, {"scope": bert(), "text": "the [MASK] sat"},
                      {"scope": NOTHING, "text": [3, b"bytes", object(), ""],
                       "target": [3.5, "", 9**9], "position": [99, "x"],
                       "tokens": [-1, 2.5, None]}),
        "Attribution.strongest": (hs.attribute(bert(), "the [MASK] sat").strongest, {},
                                  {"part": [np.arange(3), 3]}),
        "ground": (hs.ground, {"scope": writer(), "messages": "who sat ?", "answer": "the cat",
                               "documents": ["the cat"], "shuffles": 1},
                   {"exact": [float("nan"), {"a": 1}, -1], "by": [True, 0.5]}),
        "over_checkpoints": (hs.over_checkpoints, {"models": ["a", "b"], "corpus": TEXTS},
                             {"models": [(0, 1), np.arange(3), 3, []]}),
        "circuits.copying": (hs.circuits.copying, {"scope": writer()}, {"scope": NOTHING}),
        "circuits.composition": (hs.circuits.composition, {"scope": writer()}, {"scope": NOTHING}),
        "circuits.named": (hs.circuits.named, {"scope": writer()},
                           {"scope": NOTHING, "names": [["nope"], [3]]}),
        "circuits.patch": (hs.circuits.patch,
                           {"scope": writer(), "clean": "the cat sat", "corrupted": "the dog sat",
                            "metric": "mat", **quiet},
                           {"scope": NOTHING, "clean": [3, b"x", "", {"a": 1}], "metric": ["", 3.5],
                            "corrupted": [3, None, "a b c d e f"], "limit": WRONG_NUMBER,
                            "what": ["nope"], "method": ["nope"]}),
        "circuits.path_patch": (hs.circuits.path_patch, {**pair, "sender": (0, 1)},
                                {"sender": [(), (0,), ("a", "b"), (0, 99), 3]}),
        "circuits.edges": (hs.circuits.edges, {**pair, **quiet},
                           {"sizes": [[None], [2.5], [0], []]}),
        "circuits.weighted": (hs.circuits.weighted, {"scope": writer(), "text": "the cat"},
                              {"by": [np.arange(3), "nope", 3]}),
        "Reading.load": (hs.Reading.load, {"path": "nowhere"},
                         {"path": ["nowhere", "{binary}", "{empty}", 3, None]}),
        "Survey.load": (hs.Survey.load, {"path": "nowhere"},
                        {"path": ["nowhere", "{binary}", "{empty}", "{parquet}"]}),
    }  # fmt: skip


@lru_cache
def judge_of_other_shape() -> Any:
    return tiny_scope("BertForSequenceClassification", num_hidden_layers=3)


def calls() -> list[Any]:
    import pytest

    found: list[Any] = []
    for name, (function, sound, wrong) in _functions().items():
        taken = inspect.signature(function).parameters
        assert {*sound, *wrong} <= taken.keys(), f"{name} has other arguments"
        for argument, values in wrong.items():
            for value in values:
                shown = f"{name}({argument}={str(value)[:20]!r})"
                if " object " in shown:
                    shown = f"{name}({argument}=object)"
                found.append(pytest.param(name, _call(function, sound, argument, value), id=shown))
    return found


def _call(function: Callable[..., Any], sound: dict[str, Any], argument: str, value: Any) -> Call:
    def call(made: dict[str, str]) -> Any:
        given = value.format(**made) if isinstance(value, str) else value
        return function(**{**sound, argument: given})

    return call
