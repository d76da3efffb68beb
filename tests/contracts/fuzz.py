"""Command lines, calls and damaged files by chance, always the same for a seed."""

from __future__ import annotations

import inspect
import io
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import headscope as hs
from tests.cli_page import commands
from tests.contracts import bad_python
from tests.contracts.bad_calls import BAD_OPTIONS, DATA, SOUND
from tests.contracts.bad_python import _functions

ODD_WORDS = [
    "", "0", "-1", "1", "2", "9" * 21, "nan", "1e9", "²", "None", "\x01", "\udcff", "a" * 300, "-",
    "[]", "{text}", "{binary}", "{empty}", "../..", "all", "0-1", "0:2", "3", "0.5", "the", "mean",
    "entropy", "decoder", "zero", "norm", "heads", "o.csv", "o.svg", "o.json", "p.html", "0,1",
]  # fmt: skip
# these would run for minutes, or never end
NOT_RUN = ("study", "app", "doctor", "finetune")
SLOW_OPTIONS = ("--epochs", "--predictive", "--train", "--workers", "--engine", "--address")


def command_lines(count: int, seed: int) -> Iterator[list[str]]:
    """Commands with one to three options that hold anything."""
    chance = random.Random(seed)
    known = [(name, one) for name, one in commands() if name not in NOT_RUN and name in SOUND]
    for _ in range(count):
        name, command = chance.choice(known)
        sound = list(SOUND[name])
        if sound and not sound[0].startswith("-") and chance.random() < 0.2:
            sound[0] = chance.choice([*DATA, *ODD_WORDS])
        words = [*name.split(), *sound]
        for _ in range(chance.randint(1, 3)):
            option = chance.choice(command.params)
            long = next((one for one in option.opts if one.startswith("--")), None)
            if long is None or long in (*SLOW_OPTIONS, "--help"):
                continue
            if getattr(option, "is_flag", False):
                words.append(long)
            else:
                words.append(f"{long}={chance.choice([*BAD_OPTIONS.get(long, []), *ODD_WORDS])}")
        yield words


def ordinary() -> list[Any]:
    """What people hand over by mistake."""
    return [
        0, 1, -1, 5, 2.5, "5", "text", "", None, True, [], ["text"], (0, 1), [0], {}, {"a": 1},
        np.arange(3), np.float32(0.5), Path("nowhere"), "nowhere.txt", b"bytes", float("nan"),
        np.False_, np.str_("the"), torch.tensor(1), torch.ones(2, 2), pd.DataFrame({"text": ["a"]}),
        pd.Series(["the cat"]), iter(["the cat"]), io.StringIO("the cat"), {0}, range(2), object(),
        len, [("the cat", "a dog")], "\ud800", "a\0b", "the " * 400, "\n", 1 + 2j, slice(2),
    ]  # fmt: skip


# values of the kind that an annotation names, most of them out of range
FITTING: dict[str, list[Any]] = {
    "int": [0, 1, -1, 5, 99, 2000, np.int64(2)],
    "float": [0.0, -1.0, 0.5, 2.5, float("inf"), float("nan"), 1e-9],
    "str": ["", "text", "nope", "the", "0", "\x01", "é", "encoder", "cross", "mean", "entropy"],
    "bool": [True, False],
    "Sequence": [[], [0], ["text"], [(0, 0)], [(0, 99)], [[1]], [None], ["the", "cat"]],
    "tuple": [(), (0,), (0, 1), (1, 0), (-1, 99), ("a", "b")],
    "Path": ["nowhere.txt", "o.csv", "o.parquet", "o.svg", "o.html", ".", "missing/o.csv"],
    "Callable": [lambda *given, **named: None, lambda given: given],
}


def fitting(annotation: str) -> list[Any]:
    return [value for kind, values in FITTING.items() if kind in annotation for value in values]


# they wait for a person or a network, write pages of megabytes, or are handed the insides
NOT_CALLED = ("finetune", "live_page", "passes", "capture", "edited", "forward", "read_inputs",
              "accepts", "accepted", "with_edits", "activations", "from_attention")  # fmt: skip

Known = dict[str, tuple[Callable[..., Any], dict[str, Any]]]


def front_door() -> Known:
    """Every public function, with a sound call of it."""
    writer, kept = bad_python.writer(), bad_python.reading()
    asked = {"scope": writer, "text": "the cat sat on the"}
    of_head = {"scope": writer, "layer": 0, "head": 0}
    pair = {"clean": "the cat sat on the", "corrupted": "the dog sat on the", "metric": "mat"}
    survey = hs.survey(bad_python.bert(), bad_python.TEXTS, progress=False)
    more: dict[str, dict[str, Any]] = {
        "ground": {"scope": writer, "messages": "who sat ?", "documents": ["the cat"],
                   "answer": "the cat", "shuffles": 1},
        "pattern_table": {"survey": survey}, "labels": {"survey": survey},
        "label_stability": {"first": survey, "second": survey},
        "pointing_game": {"reading": kept, "box": (0, 0, 1, 1)},
        "circuits.trace": asked, "circuits.mixing": asked, "circuits.head_outputs": asked,
        "circuits.weighted": asked, "circuits.with_weightings": asked,
        "circuits.inputs": {**asked, "target": "mat"},
        "circuits.path_patch": {"scope": writer, **pair, "sender": (0, 1)},
        "circuits.edges": {"scope": writer, **pair, "steps": 1, "draws": 1, "sizes": [4],
                           **bad_python.quiet},
        "circuits.score": {**asked, "layer": 1, "head": 0, "query": 3, "key": 1},
        "circuits.score_parts": {**of_head, "corpus": bad_python.TEXTS, **bad_python.quiet},
        "circuits.singular": of_head, "circuits.ov_tokens": of_head, "circuits.qk_tokens": of_head,
        "circuits.capabilities": {"scope": writer},
    }  # fmt: skip
    known = {name: (function, sound) for name, (function, sound, _) in _functions().items()}
    for prefix, door in (("", hs), ("circuits.", hs.circuits), ("probe.", hs.probe)):
        for public in door.__all__:
            function, name = getattr(door, public), f"{prefix}{public}"
            if inspect.isfunction(function) and public not in NOT_CALLED and name not in known:
                known[name] = (function, more.get(name, {"reading": kept, "source": kept}))
    return known


def methods(of: Mapping[str, Any]) -> Known:
    """Every public method of some objects."""
    return {
        f"{kind}.{name}": (getattr(one, name), {})
        for kind, one in of.items()
        for name, found in inspect.getmembers_static(type(one))
        if not name.startswith("_") and name not in NOT_CALLED
        and (inspect.isfunction(found) or isinstance(found, (staticmethod, classmethod)))
    }  # fmt: skip


def calls(known: Known, count: int, seed: int) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Functions with one or two arguments that hold anything ordinary, and none missing."""
    chance = random.Random(seed)
    names = sorted(known)
    for _ in range(count):
        name = chance.choice(names)
        function, sound = known[name]
        taken = [
            one
            for one in inspect.signature(function).parameters.values()
            if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD) and one.name != "workers"
        ]
        given = {one.name: sound[one.name] for one in taken if one.name in sound}
        # half of the calls keep what makes them sound, and come further
        free = [one for one in taken if one.name not in given] if chance.random() < 0.5 else []
        odd = chance.sample(free or taken, min(len(free or taken), chance.randint(1, 2)))
        for one in [*odd, *(one for one in taken if one.default is one.empty)]:
            if one in odd or one.name not in given:
                near = fitting(str(one.annotation)) if chance.random() < 0.7 else []
                given[one.name] = chance.choice(near or ordinary())
        yield name, function, given


def damaged(whole: bytes, chance: random.Random) -> bytes:
    """Bits flipped, bytes lost, doubled or overwritten."""
    data = bytearray(whole)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data)) if data else 0
        kind = chance.randrange(4)
        if not data:
            break
        if kind == 0:
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            del data[at : at + chance.randint(1, 200)]
        elif kind == 2:
            data[at:at] = data[at : at + chance.randint(1, 200)]
        else:
            data[at : at + 8] = bytes(chance.randrange(256) for _ in range(8))
    return bytes(data)
