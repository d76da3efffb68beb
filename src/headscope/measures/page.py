"""The page of the documentation that lists every measure."""

from __future__ import annotations

import math
from collections.abc import Iterable

from headscope.measures.registry import Measure, Origin, every

COMMAND = "python -m headscope.measures > docs/reference/measures.md"
TITLES: dict[Origin, tuple[str, str]] = {
    "statistic": (
        "Statistics",
        "Measured by streaming over a corpus (`hs.survey`, `headscope survey`). Those of one text "
        "are the same numbers for a single reading: its head map and the panel of a head.",
    ),
    "pattern": (
        "Patterns",
        "Scores of named behaviours (`hs.patterns`, `headscope patterns`), each with four "
        "yardsticks that a survey keeps beside it: `name:uniform` (uniform attention), "
        "`name:null` (this head with its weights dealt out again among the keys the pattern "
        "chooses from), `name:excess` (score minus null) and `name:variance` (of the score over "
        "those deals). See [Name and explain heads](../how-to/patterns.md).",
    ),
    "circuit": ("Circuits", "What a head writes, and how heads feed each other."),
    "picture": ("Pictures and sound", "Heads over patches of a picture or frames of sound."),
}


def page() -> str:
    """All measures, a section for each part of headscope that computes some."""
    parts = [
        "# Measures\n",
        "Every number per head has one name, wherever it appears: tables, head maps, the app, "
        "commands. α_ij is the attention of query i to key j, n the number of real tokens, x_i "
        "the token and s_i the sentence at position i.\n",
        f"This page is made by `{COMMAND}`.\n",
    ]
    for origin, (title, about) in TITLES.items():
        chosen = [m for m in every().values() if m.origin == origin and m.yardstick_of is None]
        if chosen:
            parts += [f"## {title}\n", f"{about}\n", *_entries(chosen)]
    return "\n".join(parts).rstrip() + "\n"


def _entries(measures: Iterable[Measure]) -> Iterable[str]:
    for measure in measures:
        facts = [
            f"`{measure.formula}`" if measure.formula else "",
            f"unit: {measure.unit}",
            f"range: {_number(measure.low)} to {_number(measure.high)}",
            "measured unless others are named" if measure.standard else "",
            "of one text too" if measure.of_one_text else "",
            f"needs {measure.needs}" if measure.needs else "",
            measure.paper,
        ]
        yield f"### `{measure.name}`: {measure.title}\n"
        yield f"{measure.sentence}\n"
        yield "".join(f"- {fact}\n" for fact in facts if fact)


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:g}"
