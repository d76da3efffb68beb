"""Command lines, calls and damaged files by chance, always the same for a seed."""

from __future__ import annotations

import inspect
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.cli_page import commands
from tests.contracts.bad_calls import BAD_OPTIONS, DATA, SOUND
from tests.contracts.bad_python import _functions

ODD_WORDS = [
    "", "0", "-1", "1", "2", "9" * 21, "nan", "1e9", "²", "None", "\x01", "\udcff", "a" * 300, "-",
    "[]", "{text}", "{binary}", "{empty}", "../..", "all", "0-1", "0:2",
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
    ]  # fmt: skip


def calls(count: int, seed: int) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Public functions with one or two arguments that hold anything ordinary."""
    chance = random.Random(seed)
    known = list(_functions().items())
    for _ in range(count):
        name, (function, sound, _) = chance.choice(known)
        taken = [
            one.name
            for one in inspect.signature(function).parameters.values()
            if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD) and one.name != "workers"
        ]
        given = dict(sound)
        for argument in chance.sample(taken, min(len(taken), chance.randint(1, 2))):
            given[argument] = chance.choice(ordinary())
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
