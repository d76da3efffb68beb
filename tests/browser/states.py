"""States to look at, made by chance but always the same: what a person may have on screen."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from headscope.reading import Part, Reading
from headscope.views import discover
from headscope.views.shared.numbers import table_of

SHARED: dict[str, list[Any]] = {
    "filter": ["all", "all", "aa", "ab", "ba"],
    "specials": ["shown", "shown", "hidden", "renormalised"],
    "unit": ["tokens", "tokens", "words"],
    "scale": ["linear", "sqrt"],
    "orientation": ["vertical", "vertical", "horizontal"],
    "minimum": [0, 0, 0.1, 0.35],
    "thumbnails": ["maps", "maps", "lines"],
    "order": ["number", "label"],
    "find": ["", "", "token"],
    "sort": ["number", "contribution"],
    "theme": ["light", "dark"],
}


def own_states(view: str, reading: Reading, part: Part, chance: random.Random) -> dict[str, Any]:
    """What only some views keep: more words in hand, numbers on the axes, another answer."""
    kept = getattr(discover()[view], "OPTIONS", {})
    state: dict[str, Any] = {}
    if "also" in kept:
        both = range(min(len(part.query), len(part.key)))
        state["also"] = chance.choice([[], [], chance.sample(both, 2)])
    if "target" in kept:
        state["target"] = chance.choice(["", "cat", "store"])
    if "chosen" in kept:
        columns = [*table_of(reading).columns, "layer", "head"]
        state |= {axis: chance.choice(columns) for axis in ("x", "y", "colour")}
        state["chosen"] = chance.choice([[], chance.sample(range(part.heads), 2)])
    return state


def states(
    reading: Reading, names: Sequence[str], count: int, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """Each of these views in turn, everything else by chance."""
    chance = random.Random(seed)
    for number in range(count):
        part = chance.choice(list(reading.parts.values()))
        head = chance.randrange(part.heads)
        heads = chance.choice([[head], [head], sorted(chance.sample(range(part.heads), 2)), None])
        state: dict[str, Any] = {name: chance.choice(values) for name, values in SHARED.items()}
        view = names[number % len(names)]
        for name, allowed in getattr(discover()[view], "OPTIONS", {}).items():
            if isinstance(allowed, tuple):
                known = ("weight", *part.weightings) if name == "weighting" else allowed
                state[name] = chance.choice(known)
        now = {
            "view": view,
            "kind": part.kind,
            "layer": chance.choice(part.numbers),
            "head": head,
            "heads": heads,
            "query": chance.choice([None, None, chance.randrange(len(part.query))]),
            "key": chance.choice([None, None, None, chance.randrange(len(part.key))]),
            "column": chance.choice(list(table_of(reading).columns)),
        }
        more = own_states(view, reading, part, chance)
        if "also" in more:
            more["also"] = [at for at in more["also"] if at not in (now["query"], now["key"])]
        yield state | now | more
